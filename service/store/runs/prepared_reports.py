"""Reports that are prepared for being stored: with all computed values, and then with their run numbers and ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from runner import contract


class PreparedPoint(NamedTuple):
    """One metric of a report, encoded as the columns of a point, before the write lock is taken."""

    metric: str
    status: str
    value: str | None
    n: int
    samples: str | None


@dataclass(frozen=True, slots=True)
class PreparedReport:
    """A report with all computed values that are stored."""

    report: contract.Report
    case: str
    """Key of its case."""
    environment: str
    """Hash of its environment."""
    document: bytes
    points: tuple[PreparedPoint, ...]


class SeriesGroup(NamedTuple):
    """The subject, host and case of a run, which its series share."""

    subject_id: int
    host_id: int
    case_id: int


class NewRun(NamedTuple):
    """A report with its run number and the ids of the rows to which it refers."""

    number: int
    group: SeriesGroup
    revision_id: int
    position: int
    environment_id: int
    prepared_report: PreparedReport
