"""Recomputes the newest level of each series after the order of the history has changed."""

from __future__ import annotations

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from service.store.models import Point, Revision, Run, Series


def recompute_newest_levels(session: Session, subject_id: int) -> None:
    """Recompute the newest level of every series of a subject whose commits have new positions."""
    newest_first = func.row_number().over(
        partition_by=Point.series_id, order_by=(Revision.position.desc(), Run.started_at.desc(), Run.number.desc())
    )
    ranked_points = (
        select(Point.series_id, Point.value, Run.revision_id, Run.started_at, newest_first.label("rank"))
        .join(Series, Point.series_id == Series.id)
        .join(Run, Point.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .where(Series.subject_id == subject_id, Point.value.is_not(None), Run.quarantine.is_(None))
        .subquery()
    )
    session.execute(
        update(Series)
        .where(Series.id == ranked_points.c.series_id, ranked_points.c.rank == 1)
        .values(
            latest=ranked_points.c.value,
            latest_revision_id=ranked_points.c.revision_id,
            latest_at=ranked_points.c.started_at,
        )
        .execution_options(synchronize_session=False)
    )
