"""Imports measurements of other tools: a file is recognised by its content and read into runs, which become reports."""

from runner.importing.files import FolderRuns, read, read_folder
from runner.importing.imported_run import ImportDefaults, ImportedRun, make_reports
from runner.importing.registry import FORMATS

__all__ = ["FORMATS", "FolderRuns", "ImportDefaults", "ImportedRun", "make_reports", "read", "read_folder"]
"""``read`` recognises the format of a file; ``make_reports`` turns the runs into reports."""
