"""Outlines of series: made when a series is judged, and kept, so that no page has to read all of its points."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.rules.series import outline
from service.rules.series.path import Trend
from service.schemas.history import Direction, Drift
from service.store import drifts, models, points

_AT_ONCE = 12
"""Outlines that are made for a page where none is kept yet."""
_SHORT = 1000
"""Points of a series that an outline is made of for a page."""


def keep(session: Session, series_id: int, version: int, drawn: outline.SeriesOutline | None) -> None:
    """Keep the outline of a series."""
    if drawn is not None:
        document = drawn.model_dump(mode="json")
        session.merge(models.Outline(series_id=series_id, version=version, document=document))


def make(trend: Trend, found: Iterable[Drift]) -> outline.SeriesOutline | None:
    """Draw the path of a series with its drifts."""
    worse = {drift.run_after: drift.direction is Direction.REGRESSION for drift in found}
    flagged = [(place, worse[point.run_id]) for place, point in enumerate(trend.path) if point.run_id in worse]
    return outline.draw_outline([point.value for point in trend.path], flagged)


def read(session: Session, series: Iterable[int]) -> dict[int, outline.SeriesOutline]:
    """Return the outlines of some series; a few are made where none is kept, the rest are left out."""
    wanted = list(dict.fromkeys(series))
    rows = session.execute(
        select(models.Outline.series_id, models.Outline.document).where(models.Outline.series_id.in_(wanted))
    )
    found = {series_id: outline.SeriesOutline.model_validate(document) for series_id, document in rows}
    missing = [series_id for series_id in wanted if series_id not in found][:_AT_ONCE]
    short = select(models.Series.id).where(models.Series.id.in_(missing), models.Series.n_points <= _SHORT)
    for series_id in session.scalars(short).all():
        drawn = make(points.arrange(points.of_series(session, series_id)), drifts.of_series(session, series_id))
        if drawn is not None:
            found[series_id] = drawn
    return found
