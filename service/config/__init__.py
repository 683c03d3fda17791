"""Settings of the service, read from the environment and from files."""
