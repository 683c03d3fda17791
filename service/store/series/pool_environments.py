"""The environments of pools, which are equivalent if commits that were measured in both have proven it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import get_metric
from runner.contract.metric import Kind
from runner.contract.pool import POOL_SETTING
from service.rules.series.point_order import PathPoint
from service.rules.series.pools import find_stand_ins
from service.store.engine import bulk
from service.store.models import Environment, Series


def map_stand_ins(session: Session, points_by_series: Mapping[int, Collection[PathPoint]]) -> dict[int, dict[str, str]]:
    """Return, by series id, the environment that stands for each environment of a pool.

    Only series of exact counts have any.
    """
    environments = {point.environment for points in points_by_series.values() for point in points}
    settings = read_pool_settings(session, environments) if len(environments) > 1 else {}
    if len(settings) < 2:
        return {}  # only environments of machines of a pool can be equivalent, and it takes two of them
    return {
        series_id: find_stand_ins(points_by_series[series_id], settings)
        for series_id in find_exact_series(session, points_by_series)
    }


def read_pool_settings(session: Session, hashes: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the settings of those of the given environments that belong to machines of a pool, by hash."""
    environments = sorted(set(hashes))
    if not environments:
        return {}
    rows = session.execute(
        select(Environment.hash, Environment.settings).where(
            Environment.hash.in_(environments),
            Environment.settings[POOL_SETTING].as_string().is_not(None),
        )
    )
    return {environment: settings for environment, settings in rows}  # noqa: C416 - mypy does not know that rows are pairs


def find_exact_series(session: Session, series_ids: Collection[int]) -> set[int]:
    """Return those of the given series that are counts that only the program affects."""
    rows = session.execute(select(Series.id, Series.metric).where(bulk.is_among(session, Series.id, series_ids)))
    return {series_id for series_id, name in rows if is_exact(name)}


def is_exact(metric: str) -> bool:
    """Return whether a metric is a count that only the program affects."""
    entry = get_metric(metric)
    return entry.kind is Kind.COUNT and entry.exact
