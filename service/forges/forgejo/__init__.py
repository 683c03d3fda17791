"""Forgejo and Gitea: comments on pull requests, commit statuses and webhooks, with the token of a user."""
