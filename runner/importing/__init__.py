"""Imports measurements of other tools: recognises a file by its content, reads its runs, and makes reports of them."""

from runner.importing.files import FolderRuns, read_file, read_folder, refuse_too_many_runs
from runner.importing.imported_run import ImportDefaults, ImportedRun, make_reports
from runner.importing.registry import FORMATS

__all__ = [
    "FORMATS",
    "FolderRuns",
    "ImportDefaults",
    "ImportedRun",
    "make_reports",
    "read_file",
    "read_folder",
    "refuse_too_many_runs",
]
"""``read_file`` recognises the format of a file; ``make_reports`` turns the runs into reports."""
