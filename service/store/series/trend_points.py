"""Reads the points that have a place in the trends of series, and arranges them in the order of judging."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from runner.contract.quarantine import REUSED
from service.rules.same_bytes import ProgramBytes
from service.rules.series import point_order
from service.rules.series.path_and_branches import Branches, arrange_branches
from service.store.engine import bulk
from service.store.models import Environment, Point, RefRow, Revision, Run, Series
from service.store.revisions import revisions
from service.store.series import pool_environments
from service.store.series.encoded_samples import decode_samples
from service.store.series.history_window import HistoryWindow
from service.store.series.points import BYTES_COLUMNS, IS_ON_TREND, PointRow, build_program_bytes


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
