"""Points of series, with their revisions, runs and environments."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session

from runner.contract import Status
from runner.contract.level import compute_median
from runner.contract.quarantine import OUTSIDE_HISTORY, REUSED
from service.rules.same_bytes import ProgramBytes
from service.rules.series import point_order
from service.rules.series.branches import Branches, arrange_branches
from service.schemas import history
from service.store.engine import bulk
from service.store.models import Environment, Point, RefRow, Revision, Run, Series
from service.store.revisions import revisions
from service.store.series import pool_environments

_RUNS_PER_QUERY = 500
"""At most this many runs per query, because SQLite limits the number of parameters."""
_VIEW_FIELDS = set(history.SeriesPoint.model_fields)


def encode_samples(samples: Sequence[history.Number]) -> tuple[str | None, int, str | None]:
    """Return the columns ``value``, ``n`` and ``samples`` of a point: its level as text, and its samples as JSON.

    Samples that all equal the level, as exact counts do, are not stored.
    """
    if not samples:
        return None, 0, None
    first_sample = samples[0]
    n = len(samples)
    if samples.count(first_sample) == n and len(set(map(type, samples))) == 1:
        return repr(first_sample), n, None
    samples_as_json = f"[{','.join(map(repr, samples))}]"  # five times faster than json.dumps
    return repr(compute_median(samples)), n, samples_as_json


def decode_samples(value: history.Number | None, n: int, samples_as_json: str | None) -> tuple[history.Number, ...]:
    """Return the samples of a point from its columns."""
    if samples_as_json is not None:
        return tuple(json.loads(samples_as_json))
    return () if value is None else (value,) * n


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


class HistoryWindow(NamedTuple):
    """The newest part of a history."""

    position: int
    """The position of its first revision."""
    run_number: int
    """The number of the first run of its revisions."""


def find_history_window(session: Session, subject_id: int, host_id: int, n_revisions: int) -> HistoryWindow | None:
    """Return the newest part of a history with ``n_revisions`` revisions measured by a host; None if it has fewer."""
    is_measured = select(Run.number).where(Run.revision_id == Revision.id, Run.host_id == host_id).exists()
    is_of_subject = Revision.subject_id == subject_id
    position_query = select(Revision.position).where(is_of_subject, is_measured).order_by(Revision.position.desc())
    position = session.scalar(position_query.offset(n_revisions - 1).limit(1))
    if position is None:
        return None
    first_run_query = select(func.min(Run.number)).join(Revision, Run.revision_id == Revision.id)
    first_run = session.scalar(
        first_run_query.where(is_of_subject, Revision.position >= position, Run.host_id == host_id)
    )
    return HistoryWindow(position, first_run or 0)


def find_newest_window(session: Session, series_id: int, max_points: int) -> HistoryWindow | None:
    """Return the newest part of the history in which a series has at most ``max_points`` points.

    None if the series has no more points than that, or if the newest revision alone has more.
    """
    newest_points = select(Revision.position, Run.number).join(Run, Run.revision_id == Revision.id)
    newest_points = newest_points.join(Point, Point.run_number == Run.number).where(Point.series_id == series_id)
    rows = session.connection().execute(newest_points.order_by(Revision.position.desc()).limit(max_points + 1)).all()
    if len(rows) <= max_points:
        return None
    # The oldest revision that was read is left out, because it may have further runs.
    inside = [(position, number) for position, number in rows if position > rows[-1].position]
    if not inside:
        return None
    return HistoryWindow(
        position=min(position for position, _ in inside), run_number=min(number for _, number in inside)
    )


def arrange_trends(
    session: Session, series_ids: Collection[int], window: HistoryWindow | None = None
) -> dict[int, point_order.Trend]:
    """Return the trends of series, by the id of the series, from the points that have a place in them.

    A series that is not stored, because it was deleted in the meantime, is left out.

    Parameters
    ----------
    window
        The part of the history whose points are arranged; None for all of it.
    """
    points_by_series = read_points_on_trend(session, series_ids, window)
    stand_ins = pool_environments.map_stand_ins(session, points_by_series)
    subjects = _find_subjects(session, series_ids)
    branches = {subject_id: find_branches(session, subject_id, window) for subject_id in set(subjects.values())}
    return {
        series_id: _arrange_points_with_stand_ins(points, branches[subjects[series_id]], stand_ins.get(series_id, {}))
        for series_id, points in points_by_series.items()
        if series_id in subjects
    }


def _arrange_points_with_stand_ins(
    points: Iterable[point_order.PathPoint], branches: Branches, stand_ins: Mapping[str, str]
) -> point_order.Trend:
    """Return the trend of points whose environments are replaced by equivalent ones."""
    unified_points = (
        replace(point, environment=stand_ins[point.environment]) if point.environment in stand_ins else point
        for point in points
    )
    return replace(arrange_branches(unified_points, branches), stand_ins=stand_ins)


def read_points_on_trend(
    session: Session, series_ids: Collection[int], window: HistoryWindow | None = None
) -> dict[int, list[point_order.PathPoint]]:
    """Return the points of series that have a place in their trends, by the id of the series.

    Each run is read only once, however many of the series have points of it.
    """
    levels = select(Point.series_id, Point.run_number, Point.value, Point.n, Point.samples)
    conditions: list[ColumnElement[bool]] = [Point.series_id.in_(series_ids), Point.value.is_not(None)]
    if window is not None:
        conditions.append(Point.run_number >= window.run_number)
    rows = session.connection().execute(levels.where(*conditions)).all()  # twice as fast as through the session
    runs = _select_runs_on_trend(session, {run_number for _, run_number, *_ in rows})
    points_by_series: dict[int, list[point_order.PathPoint]] = {series_id: [] for series_id in series_ids}
    for series_id, number, value, n, samples in rows:
        if number in runs and value is not None:
            run = runs[number]
            if window is not None and run.position < window.position:
                continue
            point = point_order.PathPoint(
                run_id=run.run_id,
                revision=run.revision,
                position=run.position,
                environment=run.environment,
                measured_at=run.measured_at,
                value=value,
                samples=decode_samples(value, n, samples),
                program_bytes=run.program_bytes,
                is_reused=run.is_reused,
            )
            points_by_series[series_id].append(point)
    return points_by_series


def find_branches(session: Session, subject_id: int, window: HistoryWindow | None = None) -> Branches:
    """Return the commits of a subject with their parents, and the commits of its tags and branches.

    Parameters
    ----------
    window
        The part of the history that is needed; None for all of it. If it is linear, only this part is returned,
        without tags and branches. Otherwise the whole history is returned.
    """
    if window is not None:
        branches = Branches(revisions.map_parents(session, subject_id, window.position), ())
        if branches.is_single_line:
            return branches
    # A ref that has moved may have been force-pushed. Until this is known, its former commit (``left``) counts as well.
    rows = session.execute(select(RefRow.commit, RefRow.left).where(RefRow.subject_id == subject_id))
    commits = {commit for row in rows for commit in row if commit is not None}
    return Branches(revisions.map_parents(session, subject_id), commits)


def _find_subjects(session: Session, series_ids: Collection[int]) -> dict[int, int]:
    """Return the subject of each series, by the series' id."""
    rows = session.connection().execute(
        select(Series.id, Series.subject_id).where(bulk.is_among(session, Series.id, series_ids))
    )
    return dict(rows.all())


class _RunOnTrend(NamedTuple):
    """The fields of a point that come from its run."""

    run_id: UUID
    revision: str
    position: int
    environment: str
    measured_at: datetime
    program_bytes: ProgramBytes
    is_reused: bool
    """Whether its counts are reused: no other quarantined runs have a place in the trend."""


def _select_runs_on_trend(session: Session, numbers: Collection[int]) -> dict[int, _RunOnTrend]:
    """Return those of the given runs that have a place in the trend, by run number."""
    rows = session.connection().execute(
        select(Run.number, Run.id, Revision.commit, Revision.position, Environment.hash, Run.started_at, Run.quarantine)
        .add_columns(*BYTES_COLUMNS)
        .join(Revision, Run.revision_id == Revision.id)
        .join(Environment, Run.environment_id == Environment.id)
        .where(bulk.is_among(session, Run.number, numbers), IS_ON_TREND)
    )
    return {
        number: _RunOnTrend(
            run_id,
            revision,
            position,
            environment,
            measured_at,
            build_program_bytes(*values),
            is_reused=quarantine is not None,
        )
        for number, run_id, revision, position, environment, measured_at, quarantine, *values in rows
    }


def arrange_points(session: Session, series: Series, rows: list[PointRow]) -> point_order.Trend:
    """Return the trend of a series: its points with a level whose runs are not in quarantine.

    Runs with reused counts are included. Environments of a pool of machines that are proven to be equivalent are
    replaced by one of them. The bytes of the programs are unknown in these points, because only judging compares them.
    """
    points_on_trend = [
        point_order.PathPoint(
            run_id=row.run_id,
            revision=row.revision,
            position=row.position,
            environment=row.environment,
            measured_at=row.measured_at,
            value=row.value,
            samples=row.samples,
            is_reused=row.quarantine == REUSED,
        )
        for row in rows
        # The same condition as IS_ON_TREND: reused counts are no evidence, but have a place.
        if row.value is not None and row.quarantine in {None, REUSED}
    ]
    stand_ins = pool_environments.map_stand_ins(session, {series.id: points_on_trend})
    return _arrange_points_with_stand_ins(
        points_on_trend, find_branches(session, series.subject_id), stand_ins.get(series.id, {})
    )


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
