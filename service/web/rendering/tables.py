"""The CSV tables of drifts, points, runs and samples. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from runner.contract import Report, metric
from service.schemas.history import Drift, RunSummary, SeriesDetail
from service.web.rendering.formats import Table


def drift_table(drifts: Iterable[Drift]) -> Table:
    """Return one row for each drift."""
    columns = (
        *("id", "subject", "host", "case", "metric", "unit", "cause", "direction", "revision", "title", "committed_at"),
        *("certainty", "candidates"),
        *("before", "after", "change", "percent", "rule", "knobs"),
    )
    return Table(
        columns,
        (
            (
                *(drift.id, drift.subject, drift.host, drift.case, drift.metric, drift.unit),
                *(drift.cause.value, drift.direction.value, drift.revision, drift.title, drift.committed_at),
                *(drift.certainty.value, len(drift.candidates) if drift.candidates_known else None),
                *(drift.before, drift.after, drift.change, drift.percent, drift.rule),
                " ".join(knob.name for knob in drift.knobs),
            )
            for drift in drifts
        ),
    )


def point_table(series: SeriesDetail) -> Table:
    """Return one row for each point of a series."""
    columns = (
        *("run_id", "revision", "title", "committed_at", "position", "measured_at", "environment", "status"),
        *(f"value ({series.unit})", "low", "high", "samples", "on_path", "quarantine", "taken_over"),
    )
    return Table(
        columns,
        (
            (
                *(point.run_id, point.revision, point.title, point.committed_at, point.position, point.measured_at),
                *(point.environment, point.status.value, point.value, point.low, point.high, point.n),
                *(point.on_path, point.quarantine, point.taken_over),
            )
            for point in series.points
        ),
    )


def run_table(runs: Iterable[RunSummary]) -> Table:
    """Return one row for each run."""
    columns = (
        *("run_id", "subject", "host", "case", "revision", "title", "environment", "outcome", "failure"),
        *("quarantine", "started_at", "finished_at", "taken_over"),
    )
    return Table(
        columns,
        (
            (
                *(run.run_id, run.subject, run.host, run.case, run.revision, run.title, run.environment),
                *(run.outcome.value, run.failure.message if run.failure else None, run.quarantine),
                *(run.started_at, run.finished_at, run.taken_over),
            )
            for run in runs
        ),
    )


def sample_table(report: Report) -> Table:
    """Return one row for each reading of a run."""
    return Table(
        ("sample", "metric", "unit", "status", "value", "running_percent", "reason", "taken_over"),
        (
            (
                *(number, name, metric(name).unit, reading.status.value, reading.value),
                *(reading.running_percent, reading.reason or None, report.taken_over is not None),
            )
            for number, sample in enumerate(report.samples, 1)
            for name, reading in sample.readings.items()
        ),
    )
