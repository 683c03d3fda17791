"""Forges, the servers of pull requests: one interface for GitHub, GitLab and Forgejo, and a worker that calls them."""
