"""Queries of the overview page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Float, bindparam, case, cast, func, select
from sqlalchemy.orm import Session, contains_eager

from service.rules.events import headline
from service.rules.events.lifecycle import CLOSED
from service.schemas.directory import Activity
from service.schemas.history import Drift as DriftView
from service.schemas.history import DriftList, SeriesSummary
from service.store.events import event_drifts
from service.store.models import Case, DriftRow, Event, EventDriftRow, Host, Revision, Run, Series
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


_BEFORE, _AFTER = cast(EventDriftRow.before, Float), cast(EventDriftRow.after, Float)
_SIZE = case(
    (EventDriftRow.series_id.is_(None), 0.0),
    (_BEFORE == 0, float(headline.PERCENT_FROM_ZERO)),
    else_=100 * func.abs((_AFTER - _BEFORE) / func.nullif(_BEFORE, 0)),
)
_RANK = func.row_number().over(
    partition_by=EventDriftRow.event_id,
    order_by=(
        EventDriftRow.returned,
        EventDriftRow.unsure,
        _SIZE.desc(),
        Case.name,
        EventDriftRow.drift_id,
    ),
)
_RANKED_DRIFTS = (
    select(EventDriftRow.event_id, EventDriftRow.drift_id, _RANK.label("place"))
    .outerjoin(Series, EventDriftRow.series_id == Series.id)
    .outerjoin(Case, Series.case_id == Case.id)
    .where(EventDriftRow.event_id.in_(bindparam("events", expanding=True)), EventDriftRow.still_detected)
    .subquery()
)
_LEADING_DRIFTS = (
    select(_RANKED_DRIFTS.c.event_id, _RANKED_DRIFTS.c.drift_id, DriftRow.document)
    .outerjoin(DriftRow, DriftRow.id == _RANKED_DRIFTS.c.drift_id)
    .where(_RANKED_DRIFTS.c.place <= bindparam("limit"))
    .order_by(_RANKED_DRIFTS.c.place)
)


def map_leading_drifts(session: Session, event_ids: Sequence[str], limit: int) -> dict[str, list[DriftView]]:
    """Return the leading drifts of each event, by the id of the event.

    The first one is the drift with which the event's headline begins. Certain drifts come before those that need
    another run, then larger changes before smaller ones, in percent of the level before. Drifts with
    which an event came back come last.
    """
    if not event_ids:
        return {}
    rows = session.execute(_LEADING_DRIFTS, {"events": event_ids, "limit": limit}).all()
    # A shift of a whole suite belongs to no series, so its document is not among the drifts of series.
    suite_shift_ids = [drift_id for _, drift_id, document in rows if document is None]
    suite_drifts: dict[str, DriftView] = {}
    if suite_shift_ids:
        suite_drifts = {drift.id: drift for drift in event_drifts.read_drifts(session, suite_shift_ids)}
    leading_drifts: dict[str, list[DriftView]] = {event_id: [] for event_id in event_ids}
    for event_id, drift_id, document in rows:
        drift = suite_drifts.get(drift_id) if document is None else DriftView.model_validate(document)
        if drift is not None:
            leading_drifts[event_id].append(drift)
    return leading_drifts


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
