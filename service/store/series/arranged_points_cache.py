"""Caches the arranged points of series in memory, by the version of the series.

A page requests a long series at each zoom; reading and arranging ten thousand points takes half a second.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from service.rules.series.point_order import Points
from service.schemas import history
from service.store.engine.versioned_cache import VersionedCache
from service.store.models import Series
from service.store.series import points
from service.store.series.trend_points import arrange_points


@dataclass(frozen=True, slots=True)
class Layout:
    """The path of a series, and all points as the API serves them: those on the path come first."""

    path: Points
    points: list[history.SeriesPoint]


_layouts: VersionedCache[Layout] = VersionedCache(100_000, lambda layout: len(layout.points))


def find_layout(session: Session, row: Series) -> Layout:
    """Return the layout of a series at its version."""
    return _layouts.get_or_compute_value(session, row.id, row.version, lambda: _arrange_layout(session, row))


def _arrange_layout(session: Session, series: Series) -> Layout:
    """Return the layout of a series from its stored points."""
    rows = points.list_series_points(session, series.id)
    path = arrange_points(session, series, rows).path
    rows_off_path = {row.run_id: row for row in rows}
    path_points = [rows_off_path.pop(point.run_id) for point in path]
    views = [point.build_view(on_path=True) for point in path_points]
    return Layout(path, views + [point.build_view(on_path=False) for point in rows_off_path.values()])
