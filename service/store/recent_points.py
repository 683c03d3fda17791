"""The newest points and failures of many series at once, for the nightly grid."""

from __future__ import annotations

from typing import cast

from sqlalchemy import ColumnElement, FromClause, Table, func, or_, select, true
from sqlalchemy.orm import Session

from runner.contract import Outcome
from runner.contract.report import OUTSIDE
from service.rules.nightly_grid import RecentPoint, UnmeasuredRun
from service.store import runs
from service.store.models import Case, Environment, Host, Point, Revision, Run, Series, Subject

_POINTS_PER_SERIES = 16
_FAILURES = 300
_OF_HISTORY = or_(Run.quarantine.is_(None), Run.quarantine.not_in(OUTSIDE))
"""Selects the runs of the history: those of bisects, proofs and labs are no points of any series."""


def points(session: Session, metric: str, subject: str | None = None, workload: str | None = None) -> list[RecentPoint]:
    """Return the newest points of every series of a metric, of workloads whose name contains a text."""
    conditions = [
        Series.metric == metric,
        *([Subject.name == subject] if subject else []),
        *([Case.workload.icontains(workload, autoescape=True)] if workload else []),
    ]
    named = session.execute(
        select(Series.id, Subject.name, Host.name, Case.name, Case.key, Case.workload)
        .join(Series.subject)
        .join(Series.host)
        .join(Series.case)
        .where(*conditions)
    )
    # Names are read once per series, not once per point.
    names = {series_id: (subject, host, case, key, of) for series_id, subject, host, case, key, of in named}
    if not names:
        return []
    newest, of_series = _newest(session)
    # Not by the session, which takes half as long again to hand out thousands of rows.
    rows = session.connection().execute(
        select(
            *(newest.c.series_id, Environment.hash, Run.id, Revision.commit, Revision.position),
            *(Run.started_at, Run.quarantine, newest.c.status, newest.c.value),
        )
        .select_from(Series)
        .join(Series.subject)
        .join(Series.case)
        .join(newest, of_series)
        .join(Run, newest.c.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .join(Environment, Run.environment_id == Environment.id)
        .where(_OF_HISTORY, *conditions)
    )
    return [
        RecentPoint(
            series_id,
            *names[series_id],
            environment,
            run_id,
            revision,
            position,
            started_at,
            quarantine,
            status,
            value,
        )
        for series_id, environment, run_id, revision, position, started_at, quarantine, status, value in rows
    ]


def _newest(session: Session) -> tuple[FromClause, ColumnElement[bool]]:
    """Return the newest points of series, and the condition by which they are joined with those.

    Each database needs a query of its own so as to read no other points.
    """
    numbers = (
        select(Point.run_number, Point.series_id, Point.status, Point.value)
        .join(Run, Point.run_number == Run.number)
        .where(Point.series_id == Series.id, _OF_HISTORY)
        .order_by(Point.run_number.desc())
        .correlate(Series)
    )
    if session.get_bind().dialect.name == "postgresql":
        return numbers.limit(_POINTS_PER_SERIES).lateral(), true()
    oldest = numbers.with_only_columns(Point.run_number).limit(1).offset(_POINTS_PER_SERIES - 1).scalar_subquery()
    newest = cast(Table, Point.__table__).alias()
    return newest, (newest.c.series_id == Series.id) & (newest.c.run_number >= func.coalesce(oldest, 0))


def failures(session: Session) -> list[UnmeasuredRun]:
    """Return the newest runs that measured nothing, the newest first."""
    rows = session.execute(
        runs.joined(
            Subject.name.label("subject"),
            Host.name.label("host"),
            Case.key.label("case_key"),
            Case.name.label("case"),
            Environment.hash.label("environment"),
            Run.id.label("run_id"),
            Run.started_at,
            Run.failure_stage,
            Run.failure_message,
            Run.outcome,
        )
        # The first condition is that of the index of unmeasured runs.
        .where(Run.outcome != Outcome.MEASURED, _OF_HISTORY)
        .order_by(Run.started_at.desc())
        .limit(_FAILURES)
    )
    return [
        UnmeasuredRun(
            subject=row.subject,
            host=row.host,
            case=row.case,
            case_key=row.case_key,
            environment=row.environment,
            run_id=row.run_id,
            started_at=row.started_at,
            why=f"{row.failure_stage.value if row.failure_stage else 'run'} {row.outcome.value}: {row.failure_message}",
        )
        for row in rows
    ]
