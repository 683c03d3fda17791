"""All decisions, as pure functions: no database, no clock, no network, no randomness."""
