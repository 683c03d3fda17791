"""Measurements that others made → reports: one module a format, each from a file's text to records."""

from runner.importing.formats import read
from runner.importing.imported_run import ImportDefaults, ImportedRun, make_reports

__all__ = ["ImportDefaults", "ImportedRun", "make_reports", "read"]
"""``read`` recognises the format of a file; ``make_reports`` makes reports of what was read."""
