"""Outlines of series: computed when a series is judged, so that no page has to read all of its points."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.rules.series import outline
from service.rules.series.tracks import Trend
from service.schemas.history import Direction, Drift
from service.store import drifts, models, points

_MOST_COMPUTED = 12
"""Most missing outlines that are computed for one page."""
_MOST_POINTS = 1000
"""Longest series whose missing outline is computed for a page."""


def store(session: Session, series_id: int, version: int, shape: outline.SeriesOutline | None) -> None:
    """Store the outline of a series."""
    if shape is not None:
        document = shape.model_dump(mode="json")
        session.merge(models.Outline(series_id=series_id, version=version, document=document))


def compute(trend: Trend, drifts_of_series: Iterable[Drift]) -> outline.SeriesOutline | None:
    """Return the outline of a path with its drifts."""
    worse = {drift.run_after: drift.direction is Direction.REGRESSION for drift in drifts_of_series}
    flagged = [(index, worse[point.run_id]) for index, point in enumerate(trend.path) if point.run_id in worse]
    return outline.draw_outline([point.value for point in trend.path], flagged)


def read(session: Session, series: Iterable[int]) -> dict[int, outline.SeriesOutline]:
    """Return the outlines of series. Of the missing ones a few are computed; the others are left out."""
    ids = list(dict.fromkeys(series))
    rows = session.execute(
        select(models.Outline.series_id, models.Outline.document).where(models.Outline.series_id.in_(ids))
    )
    shapes = {series_id: outline.SeriesOutline.model_validate(document) for series_id, document in rows}
    missing = [series_id for series_id in ids if series_id not in shapes][:_MOST_COMPUTED]
    short = select(models.Series.id).where(models.Series.id.in_(missing), models.Series.n_points <= _MOST_POINTS)
    for series_id in session.scalars(short).all():
        shape = compute(points.arrange(points.of_series(session, series_id)), drifts.of_series(session, series_id))
        if shape is not None:
            shapes[series_id] = shape
    return shapes
