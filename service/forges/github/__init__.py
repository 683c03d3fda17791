"""The GitHub App: comments and check runs, webhooks, commands, and jobs as GitHub Actions workflows."""
