"""GitLab: notes on merge requests, commit statuses, webhooks, by the token of a project, a group or a user."""
