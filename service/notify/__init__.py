"""Notifications of events: e-mail, chat services, webhooks and an Atom feed. Each channel sends an event once."""
