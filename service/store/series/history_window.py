"""The newest part of a history, to which the points that are read can be restricted."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.store.models import Point, Revision, Run


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
