"""``faultwatch jobs``: the same as ``faultwatch job list``."""

from runner.cli.job import list_jobs as command

__all__ = ["command"]
