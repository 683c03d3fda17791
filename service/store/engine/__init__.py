"""The database itself: connections, sessions, locks, parts, bulk writes, schema upgrades."""
