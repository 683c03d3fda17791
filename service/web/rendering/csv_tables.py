"""The CSV tables of drifts, points, runs and samples."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from runner.contract import Report, get_metric
from service.schemas.history import Drift, RunSummary, SeriesDetail
from service.schemas.triage import EventSummary
from service.store.series.commits_without_run import CommitWithoutRun
from service.web.rendering.page_formats import Table


class EventRow(NamedTuple):
    """An event as a list shows it, with its leading drift, which is None if no drift is still detected."""

    event: EventSummary
    drift: Drift | None
    caused_by: str
    who_looks: str
    next_step: str


def build_event_table(rows: Iterable[EventRow]) -> Table:
    """Return one row for each event: its fields, the numbers of its leading drift, the cause and the next step."""
    of_event = ("id", "subject", "state", "cause", "direction", "headline", "price", "certainty", "revision", "title")
    of_drift = ("host", "case", "metric", "unit", "before", "after", "change", "percent")
    return Table.from_records(
        rows,
        *((name, attrgetter(f"event.{name}")) for name in (*of_event, "author", "committed_at")),
        ("drifts", lambda row: row.event.n_drifts),
        *((name, attrgetter(f"event.{name}")) for name in ("silenced", "found_at")),
        ("importance", lambda row: round(row.event.importance, 1)),
        ("series", lambda row: row.event.n_series),
        ("assignee", lambda row: row.event.assignee),
        "who_looks",
        *((name, partial(_get_of_drift, name)) for name in of_drift),
        *("caused_by", "next_step"),
    )


def _get_of_drift(name: str, row: EventRow) -> object:
    return None if row.drift is None else getattr(row.drift, name)


def build_drift_table(drifts: Iterable[Drift]) -> Table:
    """Return one row for each drift."""
    return Table.from_records(
        drifts,
        *("id", "subject", "host", "case", "metric", "unit", "cause", "direction", "revision", "title", "committed_at"),
        "certainty",
        ("candidates", lambda drift: len(drift.candidates) if drift.candidates_known else None),
        *("before", "after", "change", "percent", "rule"),
        ("settings", lambda drift: " ".join(setting.name for setting in drift.settings)),
    )


def build_point_table(series: SeriesDetail, commits_without_run: Iterable[CommitWithoutRun]) -> Table:
    """Return one row for each point of a series, then one for each commit at which it failed or has no run."""
    points = Table.from_records(
        series.points,
        *("run_id", "revision", "title", "committed_at", "position", "measured_at", "environment", "status"),
        (f"value ({series.unit})", lambda point: point.value),
        *("low", "high"),
        ("samples", lambda point: point.n),
        *("on_path", "quarantine", "reused"),
    )
    no_value = None, None, None, 0, False, None, False
    failures = (
        (failure.run_id, failure.revision, failure.title, None, failure.position, None, None, "failed", *no_value)
        for failure in series.failures
    )
    gaps = (
        (
            None,
            commit.revision,
            commit.title,
            commit.committed_at,
            commit.position,
            None,
            None,
            "not_measured",
            *no_value,
        )
        for commit in commits_without_run
    )
    return Table(points.columns, chain(points.rows, failures, gaps))


def build_run_table(runs: Iterable[RunSummary]) -> Table:
    """Return one row for each run."""
    return Table.from_records(
        runs,
        *("run_id", "subject", "host", "case", "revision", "title", "environment", "outcome"),
        ("failure", lambda run: run.failure.message if run.failure else None),
        *("quarantine", "started_at", "finished_at", "reused"),
    )


def build_sample_table(report: Report) -> Table:
    """Return one row for each reading of a run."""
    return Table(
        ("sample", "metric", "unit", "status", "value", "running_percent", "reason", "reused"),
        (
            (
                *(number, name, get_metric(name).unit, reading.status.value, reading.value),
                *(reading.running_percent, reading.reason or None, report.reused is not None),
            )
            for number, sample in enumerate(report.samples, 1)
            for name, reading in sample.readings.items()
        ),
    )
