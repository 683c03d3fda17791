"""Decides what can be done about results that another tool measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from runner.contract import Report
from runner.contract.report import IMPORT_FORMAT


def is_imported(knobs: Mapping[str, str]) -> bool:
    """Return whether an environment is that of imported runs: no host can measure them again."""
    return IMPORT_FORMAT in knobs


def any_imported(*reports: Report | None) -> bool:
    """Return whether any of some stored runs was imported."""
    return any(is_imported(report.environment.knobs) for report in reports if report is not None)
