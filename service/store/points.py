"""The points of a series with their revisions, runs and environments."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Status
from service import trend, views
from service.store.models import Environment, Point, Revision, Run, Series


class PointRow(NamedTuple):
    """One point and what is told of it."""

    run_id: UUID
    status: Status
    value: views.Number | None
    low: views.Number | None
    high: views.Number | None
    n: int
    samples: list[views.Number]
    revision: str
    title: str
    author: str
    committed_at: datetime
    position: int
    measured_at: datetime
    environment: str
    quarantine: str | None

    def view(self, on_path: bool) -> views.SeriesPoint:
        """Return the point as the API tells it."""
        told = {name: value for name, value in self._asdict().items() if name != "samples"}
        return views.SeriesPoint(**told, on_path=on_path)


def of_series(session: Session, series_id: int) -> list[PointRow]:
    """Return all points of a series, in the order of the history."""
    rows = session.execute(
        select(
            Point.run_id,
            Point.status,
            Point.value,
            Point.low,
            Point.high,
            Point.n,
            Point.samples,
            Revision.commit,
            Revision.title,
            Revision.author,
            Revision.committed_at,
            Revision.position,
            Run.started_at,
            Environment.hash,
            Run.quarantine,
        )
        .join(Run, Point.run_id == Run.id)
        .join(Revision, Run.revision_id == Revision.id)
        .join(Environment, Run.environment_id == Environment.id)
        .where(Point.series_id == series_id)
        .order_by(Revision.position, Run.started_at, Run.id)
    )
    return [PointRow._make(row) for row in rows]


def arrange(rows: list[PointRow]) -> trend.Trend:
    """Arrange the points that have a level and may be judged."""
    return trend.arrange(
        trend.Point(
            run_id=row.run_id,
            revision=row.revision,
            position=row.position,
            environment=row.environment,
            measured_at=row.measured_at,
            value=row.value,
            samples=tuple(row.samples),
        )
        for row in rows
        if row.value is not None and row.quarantine is None
    )


def levels(session: Session, runs: list[UUID]) -> dict[str, list[views.Number]]:
    """Return the levels of every metric over some runs, by the metric's name."""
    found: dict[str, list[views.Number]] = {}
    rows = session.execute(
        select(Series.metric, Point.value).join(Series, Point.series_id == Series.id).where(Point.run_id.in_(runs))
    )
    for metric, value in rows:
        if value is not None:
            found.setdefault(metric, []).append(value)
    return found


def knobs(session: Session, environment: str) -> dict[str, str]:
    """Return the knobs of the environment with this hash."""
    held: dict[str, str] = session.scalars(select(Environment.knobs).where(Environment.hash == environment)).one()
    return held
