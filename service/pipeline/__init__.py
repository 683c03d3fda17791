"""Use cases: each reads from the store, decides by a rule, and writes."""
