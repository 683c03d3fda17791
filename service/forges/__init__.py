"""Forges, where pull requests live: one interface for GitHub, GitLab and Forgejo, and the work that is due for them."""
