"""Notifications of events: e-mail, chats, webhooks and an Atom feed. Each event is sent once."""
