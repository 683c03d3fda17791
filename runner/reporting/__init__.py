"""Sends reports to the service: the HTTP client, the embedded service, the spool."""
