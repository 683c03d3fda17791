"""Use cases: each reads from the store, decides with rules, and writes to the store."""
