"""Telling GitHub, and being told by it: the comment, the check run, webhooks and commands."""
