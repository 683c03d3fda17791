"""Reads the newest points and failures of many series in few queries, for the nightly grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from sqlalchemy import ColumnElement, FromClause, Table, func, or_, select, true
from sqlalchemy.orm import Session

from runner.contract import Outcome
from runner.contract.quarantine import OUTSIDE_HISTORY
from service.nightly.rules.nightly_grid import RecentPoint, SeenCase, UnmeasuredRun
from service.store.engine import bulk
from service.store.models import Case, Environment, Host, Point, Revision, Run, Series, Subject
from service.store.runs import runs

_POINTS_PER_SERIES = 16
_SERIES_PER_QUERY = 500
_MAX_FAILURES = 300
IS_IN_HISTORY = or_(Run.quarantine.is_(None), Run.quarantine.not_in(OUTSIDE_HISTORY))
"""Selects the runs of histories: the runs of bisects, proofs and labs are not points of any series."""


def list_seen_cases(session: Session, metric: str, subject: str = "", workload: str = "") -> list[SeenCase]:
    """Return the cases of a subject that have ever reported a metric.

    ``workload`` is a part of the names of the workloads; an empty subject or workload selects all.
    """
    newest_points, join_condition = _select_newest_points(session, 1)
    conditions = [IS_IN_HISTORY, Series.metric == metric]
    if subject:
        conditions.append(Subject.name == subject)
    if workload:
        conditions.append(Case.workload.icontains(workload, autoescape=True))
    rows = session.connection().execute(
        select(Series.id, Subject.name, Host.name, Case.name, Case.key, Run.started_at)
        .select_from(Series)
        .join(Series.subject)
        .join(Series.host)
        .join(Series.case)
        .join(newest_points, join_condition)
        .join(Run, newest_points.c.run_number == Run.number)
        .where(*conditions)
    )
    return [SeenCase._make(row) for row in rows]


def list_recent_points(session: Session, cases: Iterable[SeenCase]) -> list[RecentPoint]:
    """Return the newest points of these cases."""
    # By series: subject, host, case and case key. They are known, so do not read them once more for each point.
    identity_by_series = {case.series_id: (case.subject, case.host, case.case, case.case_key) for case in cases}
    return [
        point
        for chunk in bulk.split_into_chunks(identity_by_series, _SERIES_PER_QUERY)
        for point in _read_points(session, identity_by_series, chunk)
    ]


def _read_points(
    session: Session, identity_by_series: Mapping[int, tuple[str, str, str, str]], series: Sequence[int]
) -> Iterator[RecentPoint]:
    """Yield the newest points of these series, from runs that belong to a history."""
    newest_points, join_condition = _select_newest_points(session, _POINTS_PER_SERIES)
    # Do not use the session, which takes 1.5 times as long to return thousands of rows.
    rows = session.connection().execute(
        select(
            *(newest_points.c.series_id, Environment.hash, Run.id, Revision.commit, Revision.position),
            *(Run.started_at, Run.quarantine, newest_points.c.status, newest_points.c.value),
        )
        .select_from(Series)
        .join(newest_points, join_condition)
        .join(Run, newest_points.c.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .join(Environment, Run.environment_id == Environment.id)
        .where(IS_IN_HISTORY, bulk.is_among(session, Series.id, series))
    )
    return (RecentPoint(series_id, *identity_by_series[series_id], *columns) for series_id, *columns in rows)


def _select_newest_points(session: Session, n_points: int) -> tuple[FromClause, ColumnElement[bool]]:
    """Return a query for the newest points of each series, and the condition that joins it with the series.

    SQLite and PostgreSQL need different queries in order to read no other points.
    """
    points_query = (
        select(Point.run_number, Point.series_id, Point.status, Point.value)
        .join(Run, Point.run_number == Run.number)
        .where(Point.series_id == Series.id, IS_IN_HISTORY)
        .order_by(Point.run_number.desc())
        .correlate(Series)
    )
    if session.get_bind().dialect.name == "postgresql":
        return points_query.limit(n_points).lateral(), true()
    oldest_number = points_query.with_only_columns(Point.run_number).limit(1).offset(n_points - 1).scalar_subquery()
    newest_points = cast(Table, Point.__table__).alias()
    # If a series has fewer points, there is no such number, and all points are selected.
    is_new = newest_points.c.run_number >= func.coalesce(oldest_number, 0)
    return newest_points, (newest_points.c.series_id == Series.id) & is_new


def list_failures(session: Session, subject: str = "") -> list[UnmeasuredRun]:
    """Return the newest runs of a subject that measured nothing, the newest first; an empty subject selects all."""
    conditions = [Subject.name == subject] if subject else []
    rows = session.execute(
        runs.select_joined_runs(
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
        # The first condition is that of the partial index of unmeasured runs.
        .where(Run.outcome != Outcome.MEASURED, IS_IN_HISTORY, *conditions)
        .order_by(Run.started_at.desc())
        .limit(_MAX_FAILURES)
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
            reason=f"{row.failure_stage.noun if row.failure_stage else 'run'} {row.outcome.value}: "
            f"{row.failure_message}",
        )
        for row in rows
    ]
