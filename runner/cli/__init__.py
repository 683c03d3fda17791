"""The ``faultwatch`` command: one module for each subcommand, each imported only when it is called."""

from runner.cli.entry_point import main

__all__ = ["main"]
