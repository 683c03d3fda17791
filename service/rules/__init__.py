"""Every decision, pure: no database, no clock, no network, no chance."""
