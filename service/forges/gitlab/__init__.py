"""GitLab: notes on merge requests, commit statuses and webhooks, with the token of a project, a group or a user."""
