"""Points of series, with their revisions, runs and environments."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from runner.contract import Status
from runner.contract.quarantine import OUTSIDE_HISTORY, REUSED
from service.rules.same_bytes import ProgramBytes
from service.schemas import history
from service.store.engine import bulk
from service.store.models import Environment, Point, Revision, Run, Series
from service.store.series.encoded_samples import decode_samples

_RUNS_PER_QUERY = 500
"""At most this many runs per query, because SQLite limits the number of parameters."""
_VIEW_FIELDS = set(history.SeriesPoint.model_fields)


class PointRow(NamedTuple):
    """One point with its run, revision and environment."""

    run_id: UUID
    status: Status
    value: history.Number | None
    n: int
    packed_samples: str | None
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
        return decode_samples(self.value, self.n, self.packed_samples)

    def build_view(self, on_path: bool) -> history.SeriesPoint:
        """Return the point as the API serves it.

        It is neither validated nor built by ``model_construct``, which takes ten times as long, because a series has
        thousands of points. All values in the database were validated before they were stored.
        """
        fields = self._asdict()
        del fields["packed_samples"]
        samples = None if self.packed_samples is None else self.samples
        low, high = (self.value, self.value) if not samples else (min(samples), max(samples))
        added_fields = {"low": low, "high": high, "on_path": on_path, "reused": self.quarantine == REUSED}
        point = history.SeriesPoint.__new__(history.SeriesPoint)
        object.__setattr__(point, "__dict__", fields | added_fields)
        object.__setattr__(point, "__pydantic_fields_set__", _VIEW_FIELDS)
        object.__setattr__(point, "__pydantic_extra__", None)
        object.__setattr__(point, "__pydantic_private__", None)
        return point


SERIES_OF_RUN = (
    (Series.subject_id == Run.subject_id) & (Series.host_id == Run.host_id) & (Series.case_id == Run.case_id)
)
"""Joins a run with the series in which it can have points."""


BYTES_COLUMNS = (Run.own_bytes, Run.system_bytes, Run.doubt_least, Run.doubt_most)
"""The columns of a run that describe the bytes of its program."""


def build_program_bytes(
    own_bytes: str | None,
    system_bytes: str | None,
    min_uncertain_faults: int | None,
    max_uncertain_faults: int | None,
) -> ProgramBytes:
    """Return the bytes of a run's program from the values of :data:`BYTES_COLUMNS`."""
    return ProgramBytes(own_bytes or "", system_bytes or "", min_uncertain_faults or 0, max_uncertain_faults or 0)


def select_joined_points(*columns: Any) -> Select[Any]:
    """Return a query for columns of points, their runs, and the revisions and environments of these runs."""
    return (
        select(*columns)
        .select_from(Point)
        .join(Run, Point.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .join(Environment, Run.environment_id == Environment.id)
    )


def select_points_by_run(*columns: Any) -> Select[Any]:
    """Return a query for columns of runs, their points and their series; the caller restricts it to runs."""
    # Joined through the series, because the primary key of points begins with the series.
    is_of_run = (Point.series_id == Series.id) & (Point.run_number == Run.number)
    return select(*columns).select_from(Run).join(Series, SERIES_OF_RUN).join(Point, is_of_run)


IS_ON_TREND = or_(Run.quarantine.is_(None), Run.quarantine == REUSED)
"""Selects the runs that have a place in the trend: judged runs, and runs whose counts are reused from a run with the
same bytes."""


_ROWS = select_joined_points(
    *(Run.id, Point.status, Point.value, Point.n, Point.samples),
    *(Revision.commit, Revision.title, Revision.author, Revision.committed_at, Revision.position),
    *(Run.started_at, Environment.hash, Run.quarantine),
).order_by(Revision.position, Run.started_at, Run.id)


def list_series_points(session: Session, series_id: int, runs: Collection[UUID] | None = None) -> list[PointRow]:
    """Return the points of a series in the order of the history: all, or those of ``runs``."""
    query = _ROWS.where(Point.series_id == series_id, func.coalesce(Run.quarantine, "").not_in(OUTSIDE_HISTORY))
    if runs is not None:
        query = query.where(Run.id.in_(runs))
    return [PointRow._make(row) for row in session.execute(query)]


class RunPoint(NamedTuple):
    """One metric of a run."""

    run_id: UUID
    series_id: int
    metric: str
    status: Status
    value: history.Number | None
    samples: tuple[history.Number, ...]


def list_run_points(session: Session, runs: Iterable[UUID], metrics: Collection[str] | None = None) -> list[RunPoint]:
    """Return the points of runs, for the given metrics or for all."""
    query = select_points_by_run(Run.id, Series.id, Series.metric, Point.status, Point.value, Point.n, Point.samples)
    query = query.order_by(Run.number, Series.id)
    if metrics is not None:
        query = query.where(Series.metric.in_(metrics))
    return [
        RunPoint(run_id, series_id, metric, status, value, decode_samples(value, n, samples))
        for chunk in bulk.split_into_chunks(runs, _RUNS_PER_QUERY)
        for run_id, series_id, metric, status, value, n, samples in session.execute(query.where(Run.id.in_(chunk)))
    ]


def map_levels(session: Session, runs: Iterable[UUID]) -> dict[str, list[history.Number]]:
    """Return the levels of every metric over runs, by the metric's name."""
    levels_by_metric: dict[str, list[history.Number]] = {}
    for point in list_run_points(session, runs):
        if point.value is not None:
            levels_by_metric.setdefault(point.metric, []).append(point.value)
    return levels_by_metric


def map_durations(session: Session, runs: Collection[UUID]) -> dict[UUID, float]:
    """Return how long an execution takes in each of the given runs, in seconds, by the id of the run."""
    elapsed = list_run_points(session, runs, ["elapsed"])
    return {point.run_id: float(point.value) for point in elapsed if point.value is not None}


def find_settings(session: Session, environment: str) -> dict[str, str]:
    """Return the settings of the environment with this hash, which must be stored."""
    settings: dict[str, str] = session.scalars(
        select(Environment.settings).where(Environment.hash == environment)
    ).one()
    return settings
