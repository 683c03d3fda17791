"""Measurements that others made → reports: one module a format, each from a file's text to records."""

from runner.importing.formats import read
from runner.importing.imported_run import Defaults, Record, reports

__all__ = ["Defaults", "Record", "read", "reports"]
"""``read`` recognises the format of a file; ``reports`` makes reports of what was read."""
