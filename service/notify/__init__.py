"""Tells events: by e-mail, by webhook, in a feed. Each event once."""
