"""Tells imported runs, which no host can measure again, from measured ones."""

from __future__ import annotations

from collections.abc import Mapping

from runner.contract import Report
from runner.contract.report import IMPORT_FORMAT


def is_imported(settings: Mapping[str, str]) -> bool:
    """Return whether an environment belongs to imported runs."""
    return IMPORT_FORMAT in settings


def has_imported(*reports: Report | None) -> bool:
    """Return whether any of the stored runs was imported."""
    return any(is_imported(report.environment.settings) for report in reports if report is not None)
