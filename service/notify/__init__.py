"""Notifications of events: e-mail, chat webhooks and an Atom feed. Each event is sent once."""
