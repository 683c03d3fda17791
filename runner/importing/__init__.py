"""Imports measurements of other tools: one module for each format reads a file into runs, which become reports."""

from runner.importing.formats import read
from runner.importing.imported_run import ImportDefaults, ImportedRun, make_reports

__all__ = ["ImportDefaults", "ImportedRun", "make_reports", "read"]
"""``read`` recognises the format of a file; ``make_reports`` turns the runs into reports."""
