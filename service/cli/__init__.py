"""The subcommands of ``faultwatch-service``."""
