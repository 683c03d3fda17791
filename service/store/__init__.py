"""What the service remembers: tables, sessions, and one module of queries a noun."""
