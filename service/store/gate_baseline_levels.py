"""The baselines of the series of a gate: the levels from which they are judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from runner import contract
from runner.contract.gate import GateReport
from service.rules.gate.gradual_regression import Baseline
from service.schemas.triage import State
from service.store import shared_rows
from service.store.models import Case, Environment, Event, EventDriftRow, Host, Point, Revision, Run, Series, Subject

Baselines = dict[tuple[int, str], Baseline]
"""Baselines by the index of the case in the report, and the metric."""


def find_baselines(session: Session, report: GateReport, metrics: Iterable[tuple[int, str]]) -> Baselines:
    """Return the baselines of metrics of a report's cases, in the environment of the head."""
    baselines: Baselines = {}
    for index, metric in metrics:
        baseline = _find_baseline(session, report.cases[index].head, metric)
        if baseline is not None:
            baselines[index, metric] = baseline
    return baselines


def pack_baselines(baselines: Mapping[tuple[int, str], Baseline]) -> dict[str, Any]:
    """Return baselines as a JSON object, with keys such as ``0 minor-faults``."""
    return {f"{index} {metric}": [baseline.level, baseline.commit] for (index, metric), baseline in baselines.items()}


def unpack_baselines(packed_baselines: Mapping[str, Any] | None) -> Baselines:
    """Read baselines from a JSON object of :func:`pack_baselines`; None contains none."""
    baselines: Baselines = {}
    for key, (level, commit) in (packed_baselines or {}).items():
        index, _, metric = key.partition(" ")
        baselines[int(index), metric] = Baseline(level, commit)
    return baselines


def _find_baseline(session: Session, head: contract.Report, metric: str) -> Baseline | None:
    """Return the first level of a metric since its last expected drift, in the environment of the head.

    None if the metric has no series, or no level in this environment since then.
    """
    # Find the series.
    series = session.scalar(
        select(Series.id)
        .join(Series.subject)
        .join(Series.host)
        .join(Series.case)
        .where(
            Subject.name == head.subject,
            Host.name == head.host.name,
            Case.key == shared_rows.make_case_key(head.case),
            Series.metric == metric,
        )
    )
    if series is None:
        return None
    # Find the newest candidate of its last expected drift.
    first_position = session.scalar(
        select(func.max(Revision.position))
        .join(EventDriftRow, EventDriftRow.last_revision_id == Revision.id)
        .join(Event, EventDriftRow.event_id == Event.id)
        .where(EventDriftRow.series_id == series, Event.state == State.EXPECTED)
    )
    # Find the first level since then.
    row = session.execute(
        select(Point.value, Revision.commit)
        .join(Run, Point.run_number == Run.number)
        .join(Run.revision)
        .join(Run.environment)
        .where(
            Point.series_id == series,
            Point.value.is_not(None),
            Run.quarantine.is_(None),
            Environment.hash == head.environment.hash,
            Revision.position >= (first_position or 0),
        )
        .order_by(Revision.position, Run.started_at)
        .limit(1)
    ).first()
    if row is None:
        return None
    level, commit = row
    return None if level is None else Baseline(level, commit)
