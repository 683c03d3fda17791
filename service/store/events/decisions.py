"""The decision logs of events. Entries are added, never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from service.rules.events.lifecycle import LogEntry
from service.schemas import triage
from service.store.models import DecisionRow, Event

_SELECT_OLDEST_FIRST = select(DecisionRow).order_by(DecisionRow.at, DecisionRow.id)
_ORIGINAL_DECISION = aliased(DecisionRow)
_SELECT_WITH_ORIGIN = (
    select(DecisionRow, _ORIGINAL_DECISION.event_id)
    .outerjoin(_ORIGINAL_DECISION, DecisionRow.original_id == _ORIGINAL_DECISION.id)
    .order_by(DecisionRow.at, DecisionRow.id)
)


def read_log(session: Session, event_id: str) -> Sequence[DecisionRow]:
    """Return the log of an event, oldest first."""
    return session.scalars(_SELECT_OLDEST_FIRST.where(DecisionRow.event_id == event_id)).all()


def read_logs(session: Session, subject_id: int) -> dict[str, list[DecisionRow]]:
    """Return the logs of all events of a subject that have one, by the event's id."""
    rows_by_event: dict[str, list[DecisionRow]] = defaultdict(list)
    log_query = _SELECT_OLDEST_FIRST.join(Event, DecisionRow.event_id == Event.id).where(Event.subject_id == subject_id)
    for row in session.scalars(log_query):
        rows_by_event[row.event_id].append(row)
    return rows_by_event


def map_latest_decisions(session: Session, event_ids: Sequence[str]) -> dict[str, triage.Decision]:
    """Return the last decision about each event that has one, by the event's id."""
    latest_decisions = {}
    # Oldest first, so that the last decision about an event stays.
    for row, origin in session.execute(_SELECT_WITH_ORIGIN.where(DecisionRow.event_id.in_(event_ids))):
        latest_decisions[row.event_id] = build_view(row, origin)
    return latest_decisions


def list_decisions(session: Session, event_id: str) -> list[triage.Decision]:
    """Return the whole log of an event as the API serves it."""
    rows = session.execute(_SELECT_WITH_ORIGIN.where(DecisionRow.event_id == event_id))
    return [build_view(row, origin) for row, origin in rows]


def list_events_fixed_by(session: Session, subject_id: int, commit: str) -> list[triage.FixedEvent]:
    """Return the events of a subject that a commit fixed, if they still count as fixed; the most important first."""
    is_fixed_by_commit = (
        select(DecisionRow.id)
        .where(DecisionRow.event_id == Event.id, DecisionRow.action == triage.Action.FIX, DecisionRow.commit == commit)
        .exists()
    )
    query = (
        select(Event.id, Event.document)
        .where(Event.subject_id == subject_id, Event.state == triage.State.FIXED, Event.merged_into.is_(None))
        .where(is_fixed_by_commit)
        .order_by(Event.importance.desc(), Event.id)
    )
    return [
        triage.FixedEvent(id=event_id, headline=document["headline"]) for event_id, document in session.execute(query)
    ]


def list_page(session: Session, event_id: str, limit: int, offset: int) -> triage.DecisionList:
    """Return a page of the log of an event."""
    is_of_event = DecisionRow.event_id == event_id
    total = session.scalar(select(func.count()).select_from(DecisionRow).where(is_of_event)) or 0
    rows = session.execute(_SELECT_WITH_ORIGIN.where(is_of_event).limit(limit).offset(offset))
    items = [build_view(row, origin) for row, origin in rows]
    return triage.DecisionList(items=items, total=total, limit=limit, offset=offset)


def build_entry(row: DecisionRow) -> LogEntry:
    """Return the part of an entry that the rules read."""
    return LogEntry(row.action, row.by_service, row.reason, row.commit)


def build_view(row: DecisionRow, origin: str | None = None) -> triage.Decision:
    """Return an entry as the API serves it.

    Parameters
    ----------
    row
        The entry.
    origin
        The event whose log it was copied from.
    """
    return triage.Decision(
        id=row.id,
        event_id=row.event_id,
        action=row.action,
        author=row.author,
        by_service=row.by_service,
        at=row.at,
        reason=row.reason,
        commit=row.commit,
        carried_from=origin,
    )
