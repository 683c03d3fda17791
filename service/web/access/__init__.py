"""Access control: open on loopback; by token or sign-in if others can reach the service."""
