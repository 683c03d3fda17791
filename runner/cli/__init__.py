"""The ``faultwatch`` command: a module for each subcommand, imported only when the subcommand is called."""

from runner.cli.entry_point import main

__all__ = ["main"]
