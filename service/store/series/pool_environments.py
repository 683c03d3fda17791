"""The environments of pools, which stand for each other where commits that were measured in both have proven it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import metric
from runner.contract.metric import Kind
from runner.contract.report import POOL_SETTING
from service.rules.series.pools import find_stand_ins
from service.rules.series.tracks import PathPoint
from service.store.engine import bulk
from service.store.models import Environment, Series


def unify_environments(
    session: Session, by_series: Mapping[int, Sequence[PathPoint]]
) -> dict[int, Sequence[PathPoint]]:
    """Return points of series with the environments that stand for theirs. Only exact counts can prove that."""
    environments = {point.environment for points in by_series.values() for point in points}
    settings = read_pool_settings(session, environments) if len(environments) > 1 else {}
    if len(settings) < 2:
        return dict(by_series)
    exact = find_exact_series(session, by_series)
    return {
        series_id: unify_points(points, settings) if series_id in exact else points
        for series_id, points in by_series.items()
    }


def unify_points(points: Sequence[PathPoint], settings: Mapping[str, Mapping[str, str]]) -> Sequence[PathPoint]:
    """Return the points of one series of exact counts with the environments that stand for theirs."""
    stand_ins = find_stand_ins(points, settings)
    return [
        replace(point, environment=stand_ins[point.environment]) if point.environment in stand_ins else point
        for point in points
    ]


def read_pool_settings(session: Session, hashes: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the settings of those of some environments that belong to machines of a pool, by hash."""
    environments = sorted(set(hashes))
    if not environments:
        return {}
    rows = session.execute(
        select(Environment.hash, Environment.settings).where(
            Environment.hash.in_(environments),
            Environment.settings[POOL_SETTING].as_string().is_not(None),
        )
    )
    return {environment: settings for environment, settings in rows}  # noqa: C416 - the rows are no pairs to mypy


def find_exact_series(session: Session, series_ids: Collection[int]) -> set[int]:
    """Return those of some series that count what only the program moves."""
    rows = session.execute(select(Series.id, Series.metric).where(bulk.is_among(session, Series.id, series_ids)))
    return {series_id for series_id, name in rows if is_exact(name)}


def is_exact(name: str) -> bool:
    """Return whether a metric counts what only the program moves."""
    entry = metric(name)
    return entry.kind is Kind.COUNT and entry.exact
