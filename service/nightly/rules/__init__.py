"""Rules for the digest of a nightly run, and for the grid of cases by hosts and configurations."""
