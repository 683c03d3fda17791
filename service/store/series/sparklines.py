"""Sparklines of series: they are drawn when a series is judged, so that no page has to read all of its points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import cast

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from service.rules.series.point_order import Trend
from service.rules.series.sparkline import Flag, Sparkline, draw_sparkline
from service.schemas.history import Direction, Drift
from service.store import models
from service.store.engine import bulk
from service.store.engine.versioned_cache import VersionedCache
from service.store.series import drifts
from service.store.series.trend_points import arrange_trends

_MAX_DRAWN_PER_PAGE = 12
"""At most this many missing sparklines are drawn for one page."""
_MAX_DRAWN_POINTS = 1000
"""A missing sparkline is drawn for a page only if its series has at most this many points."""
_drawn: VersionedCache[Sparkline | None] = VersionedCache(1000, lambda _: 1)
"""Sparklines that were drawn for pages: a series that is not judged has no stored sparkline, and the page of its case
needs one each time."""


def store_sparklines(session: Session, sparkline_of_series: Mapping[int, tuple[int, Sparkline]]) -> None:
    """Store sparklines by the id of their series, each with the version of the series that it shows."""
    rows = [
        {"series_id": series_id, "version": version, "document": sparkline.model_dump(mode="json")}
        for series_id, (version, sparkline) in sparkline_of_series.items()
    ]
    bulk.insert_or_replace_rows(session, cast(Table, models.SparklineRow.__table__), rows, ["series_id"])


def draw_path(trend: Trend, drifts_of_series: Iterable[Drift]) -> Sparkline | None:
    """Return the sparkline of a path with its drifts; None if there are no points."""
    drift_at = {drift.run_after: drift for drift in drifts_of_series}
    flags = [
        Flag(index, drift.direction is Direction.REGRESSION, not drift.evidence.wants_rerun)
        for index, point in enumerate(trend.path)
        if (drift := drift_at.get(point.run_id)) is not None
    ]
    return draw_sparkline([point.value for point in trend.path], flags)


def read_sparklines(session: Session, series: Iterable[int]) -> dict[int, Sparkline]:
    """Return the sparklines of series; a few missing ones are drawn, and the others are left out."""
    ids = list(dict.fromkeys(series))
    rows = session.execute(
        select(models.SparklineRow.series_id, models.SparklineRow.document).where(
            models.SparklineRow.series_id.in_(ids)
        )
    )
    sparkline_of_series = {series_id: Sparkline.model_validate(document) for series_id, document in rows}
    missing_ids = [series_id for series_id in ids if series_id not in sparkline_of_series][:_MAX_DRAWN_PER_PAGE]
    short_series = select(models.Series.id, models.Series.version).where(
        models.Series.id.in_(missing_ids), models.Series.n_points <= _MAX_DRAWN_POINTS
    )
    for series_id, version in session.execute(short_series).all():
        sparkline = _drawn.get_or_compute_value(session, series_id, version, partial(_draw_series, session, series_id))
        if sparkline is not None:
            sparkline_of_series[series_id] = sparkline
    return sparkline_of_series


def _draw_series(session: Session, series_id: int) -> Sparkline | None:
    """Return the sparkline of a series, drawn from its points; None if it has none."""
    trend = arrange_trends(session, [series_id]).get(series_id)
    return None if trend is None else draw_path(trend, drifts.list_series_drifts(session, series_id))
