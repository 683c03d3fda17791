"""Sends what was measured: the HTTP client, the embedded service, the spool."""
