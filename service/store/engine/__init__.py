"""The database engine: connections, sessions, locks, partitions, bulk writes, schema upgrades."""
