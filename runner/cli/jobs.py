"""``faultwatch jobs``: the same as ``faultwatch job list``."""

from runner.cli.job import listed as command

__all__ = ["command"]
