"""Forgejo and Gitea: comments on pull requests, commit statuses, webhooks, by the token of a user."""
