"""The database itself: connections, sessions, locks, bulk writes, schema upgrades."""
