"""Who may do what: open on loopback, by tokens where others can reach the service."""
