"""Queries of the overview page."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, contains_eager

from service.rules.events.lifecycle import CLOSED
from service.schemas.directory import Activity
from service.schemas.history import DriftList, SeriesSummary
from service.store.models import Case, DriftRow, Event, Host, Revision, Run, Series
from service.store.series import drifts, series

_MAX_COUNTED_RUNS = 100_000
"""At most this many recent runs are counted."""


def count_judged_series(session: Session) -> int:
    """Return the number of judged series."""
    return session.scalar(select(func.count()).select_from(Series).where(Series.judged)) or 0


def list_judged_series(session: Session, limit: int, offset: int = 0) -> tuple[list[SeriesSummary], int]:
    """Return a page of the judged series, most recently measured first, and the number of judged series."""
    total = count_judged_series(session)
    newest_series = select(Series).where(Series.judged).order_by(Series.latest_at.desc(), Series.id)
    newest_series = newest_series.limit(limit).offset(offset)
    rows = session.scalars(
        newest_series.join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .options(contains_eager(Series.subject), contains_eager(Series.case), contains_eager(Series.host))
    )
    items = [
        SeriesSummary(**series.read_head(row).model_dump(), n_points=row.n_points, latest=row.latest) for row in rows
    ]
    return items, total


_CLOSED_EVENTS = select(Event.id).where(Event.state.in_(CLOSED))


def list_open_drifts(session: Session, limit: int) -> DriftList:
    """Return the drifts that do not belong to a closed event; drifts of the newest commits come first."""
    return drifts.list_newest_drifts(
        session, [DriftRow.event_id.is_(None) | DriftRow.event_id.not_in(_CLOSED_EVENTS)], limit
    )


def read_activity(session: Session, since: datetime) -> list[Activity]:
    """Return the number of runs of each host since a time, with the newest; at most ``_MAX_COUNTED_RUNS`` in total."""
    # In a separate subquery: otherwise SQLite scans the index sorted by host, with all runs.
    recent_runs = select(Run.host_id, Run.number).where(Run.started_at >= since).limit(_MAX_COUNTED_RUNS).subquery()
    counts = session.execute(
        select(recent_runs.c.host_id, func.count(), func.max(recent_runs.c.number)).group_by(recent_runs.c.host_id)
    ).all()
    count_by_newest_run = {number: count for _, count, number in counts}
    rows = session.execute(
        select(Run.number, Run.id, Host.name, Case.name, Revision.commit, Revision.title, Run.finished_at)
        .join(Run.host)
        .join(Run.case)
        .join(Run.revision)
        .where(Run.number.in_(count_by_newest_run))
        .order_by(Run.finished_at.desc())
    )
    return [
        Activity(
            host=host,
            runs=count_by_newest_run[number],
            run_id=run_id,
            case=case,
            revision=commit,
            title=title,
            finished_at=finished_at,
        )
        for number, run_id, host, case, commit, title, finished_at in rows
    ]
