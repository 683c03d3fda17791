"""The points of a series with their revisions, runs and environments."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from runner.contract import Status
from runner.contract.level import median
from service.rules.same_bytes import Material
from service.rules.series import path
from service.schemas import history
from service.store.engine import bulk
from service.store.models import Environment, Point, Revision, Run, Series

_MOST = 500
"""Runs that are looked up in one query."""
_TOLD = set(history.SeriesPoint.model_fields)


def written(samples: Sequence[history.Number]) -> tuple[str | None, int, str | None]:
    """Write the level of samples, how many there are, and themselves, as a point's columns hold them.

    Samples that all are the level, as exact counts are, take no place.
    """
    if not samples:
        return None, 0, None
    first, n = samples[0], len(samples)
    if samples.count(first) == n and len(set(map(type, samples))) == 1:
        return repr(first), n, None
    return repr(median(samples)), n, f"[{','.join(map(repr, samples))}]"  # as JSON writes it, in a fifth of its time


def unpack(value: history.Number | None, n: int, samples: str | None) -> tuple[history.Number, ...]:
    """Read the samples of a point back."""
    if samples is not None:
        return tuple(json.loads(samples))
    return () if value is None else (value,) * n


class PointRow(NamedTuple):
    """One point and what is told of it."""

    run_id: UUID
    status: Status
    value: history.Number | None
    n: int
    packed: str | None
    revision: str
    title: str
    author: str
    committed_at: datetime
    position: int
    measured_at: datetime
    environment: str
    quarantine: str | None

    @property
    def samples(self) -> tuple[history.Number, ...]:
        """All samples that have a value."""
        return unpack(self.value, self.n, self.packed)

    def view(self, on_path: bool) -> history.SeriesPoint:
        """Return the point as the API tells it.

        Neither validated nor made by ``model_construct``, which takes ten times as long: a series has thousands of
        points, and the database holds nothing but what was validated.
        """
        told = self._asdict()
        del told["packed"]
        samples = None if self.packed is None else self.samples
        low, high = (self.value, self.value) if not samples else (min(samples), max(samples))
        point = history.SeriesPoint.__new__(history.SeriesPoint)
        object.__setattr__(point, "__dict__", told | {"low": low, "high": high, "on_path": on_path})
        object.__setattr__(point, "__pydantic_fields_set__", _TOLD)
        object.__setattr__(point, "__pydantic_extra__", None)
        object.__setattr__(point, "__pydantic_private__", None)
        return point


SERIES_OF_RUN = (
    (Series.subject_id == Run.subject_id) & (Series.host_id == Run.host_id) & (Series.case_id == Run.case_id)
)
"""The series that a run can have points in."""


MATERIAL = (Run.own_bytes, Run.system_bytes, Run.doubt_least, Run.doubt_most)
"""What a run's program was made of."""


def material_of(own: str | None, system: str | None, least: int | None, most: int | None) -> Material:
    """Read what a run's program was made of, from :data:`MATERIAL`."""
    return Material(own or "", system or "", least or 0, most or 0)


def joined(*columns: Any) -> Select[Any]:
    """Return the query for columns of points and their runs, and of the revisions and environments of those."""
    return (
        select(*columns)
        .select_from(Point)
        .join(Run, Point.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .join(Environment, Run.environment_id == Environment.id)
    )


def by_run(*columns: Any) -> Select[Any]:
    """Return the query for columns of runs, their points and the series of those; to be narrowed down to some runs."""
    # By the series that a run can have points in, because points are kept by series.
    here = (Point.series_id == Series.id) & (Point.run_number == Run.number)
    return select(*columns).select_from(Run).join(Series, SERIES_OF_RUN).join(Point, here)


_ROWS = joined(
    *(Run.id, Point.status, Point.value, Point.n, Point.samples),
    *(Revision.commit, Revision.title, Revision.author, Revision.committed_at, Revision.position),
    *(Run.started_at, Environment.hash, Run.quarantine),
).order_by(Revision.position, Run.started_at, Run.id)


def of_series(session: Session, series_id: int, runs: Collection[UUID] | None = None) -> list[PointRow]:
    """Return the points of a series in the order of the history: all, or those of some runs."""
    wanted = _ROWS.where(Point.series_id == series_id)
    if runs is not None:
        wanted = wanted.where(Run.id.in_(runs))
    return [PointRow._make(row) for row in session.execute(wanted)]


def trend_of(session: Session, series_id: int) -> path.Trend:
    """Arrange the points of a series that have a level and may be judged, reading nothing else of them."""
    rows = session.execute(
        joined(
            *(Run.id, Revision.commit, Revision.position, Environment.hash, Run.started_at),
            *(Point.value, Point.n, Point.samples, *MATERIAL),
        ).where(Point.series_id == series_id, Point.value.is_not(None), Run.quarantine.is_(None))
    )
    return path.arrange(
        path.Point(
            *(run_id, revision, position, environment, measured_at, value, unpack(value, n, samples)),
            material=material_of(*made_of),
        )
        for run_id, revision, position, environment, measured_at, value, n, samples, *made_of in rows
        if value is not None
    )


def arrange(rows: list[PointRow]) -> path.Trend:
    """Arrange the points that have a level and may be judged."""
    return path.arrange(
        path.Point(
            run_id=row.run_id,
            revision=row.revision,
            position=row.position,
            environment=row.environment,
            measured_at=row.measured_at,
            value=row.value,
            samples=row.samples,
        )
        for row in rows
        if row.value is not None and row.quarantine is None
    )


class RunPoint(NamedTuple):
    """One metric of a run."""

    run_id: UUID
    series_id: int
    metric: str
    status: Status
    value: history.Number | None
    samples: tuple[history.Number, ...]


def of_runs(session: Session, runs: Iterable[UUID], metrics: Collection[str] | None = None) -> list[RunPoint]:
    """Return the points of some runs: of all metrics where none are named."""
    wanted = by_run(Run.id, Series.id, Series.metric, Point.status, Point.value, Point.n, Point.samples)
    wanted = wanted.order_by(Run.number, Series.id)
    if metrics is not None:
        wanted = wanted.where(Series.metric.in_(metrics))
    return [
        RunPoint(run_id, series_id, metric, status, value, unpack(value, n, samples))
        for chunk in bulk.chunks(runs, _MOST)
        for run_id, series_id, metric, status, value, n, samples in session.execute(wanted.where(Run.id.in_(chunk)))
    ]


def levels(session: Session, runs: Iterable[UUID]) -> dict[str, list[history.Number]]:
    """Return the levels of every metric over some runs, by the metric's name."""
    found: dict[str, list[history.Number]] = {}
    for point in of_runs(session, runs):
        if point.value is not None:
            found.setdefault(point.metric, []).append(point.value)
    return found


def knobs(session: Session, environment: str) -> dict[str, str]:
    """Return the knobs of the environment with this hash."""
    held: dict[str, str] = session.scalars(select(Environment.knobs).where(Environment.hash == environment)).one()
    return held
