"""The logs of events: entries are added, never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session, aliased

from service.rules.events.followup import Entry
from service.rules.events.lifecycle import follow, state_after
from service.schemas import events
from service.schemas.events import State
from service.store.models import Decision, Event, EventDrift, Series


class NotPossibleError(Exception):
    """The decision cannot be made in the event's state."""

    def __init__(self, state: State) -> None:
        super().__init__(state.value)
        self.state = state


def decide(session: Session, event: Event, asked: events.DecisionRequest, author: str) -> Decision:
    """Add what somebody decided.

    Raises
    ------
    NotPossibleError
        Where that does not fit the event's state.
    """
    if follow(event.state, asked.action) is None:
        raise NotPossibleError(event.state)
    entry = Entry(asked.action, by_service=False, reason=asked.reason, commit=asked.commit)
    return add(session, event, entry, author, datetime.now(UTC))


def add(session: Session, event: Event, entry: Entry, author: str, at: datetime) -> Decision:
    """Add an entry to the log of an event, and let the event follow it."""
    row = Decision(
        event_id=event.id,
        action=entry.action,
        author=author,
        by_service=entry.by_service,
        at=at,
        reason=entry.reason,
        commit=entry.commit,
        original_id=None,
    )
    session.add(row)
    session.flush()
    _follow(session, event, at)
    return row


def carry(session: Session, origin: str, event: Event) -> None:
    """Repeat the log of one event in that of another: it went on as that one, or was split."""
    there = {row.original_id or row.id for row in log(session, event.id)}
    for row in log(session, origin):
        original = row.original_id or row.id
        if original in there:
            continue
        session.add(
            Decision(
                event_id=event.id,
                action=row.action,
                author=row.author,
                by_service=row.by_service,
                at=row.at,
                reason=row.reason,
                commit=row.commit,
                original_id=original,
            )
        )
    session.flush()
    _follow(session, event, event.changed_at)


def log(session: Session, event_id: str) -> Sequence[Decision]:
    """Return the log of an event, oldest first."""
    return session.scalars(_OLDEST_FIRST.where(Decision.event_id == event_id)).all()


def logs(session: Session, subject_id: int) -> dict[str, list[Decision]]:
    """Return the logs of all events of a subject that have one."""
    found: dict[str, list[Decision]] = defaultdict(list)
    of_subject = _OLDEST_FIRST.join(Event, Decision.event_id == Event.id).where(Event.subject_id == subject_id)
    for row in session.scalars(of_subject):
        found[row.event_id].append(row)
    return found


def latest(session: Session, event_ids: Sequence[str]) -> dict[str, events.Decision]:
    """Return the last entry of each event that has one."""
    found = {}
    for row, origin in session.execute(_WITH_ORIGIN.where(Decision.event_id.in_(event_ids))):
        found[row.event_id] = view(row, origin)
    return found


def listed(session: Session, event_id: str) -> events.DecisionList:
    """Return the log of an event as it is told."""
    rows = session.execute(_WITH_ORIGIN.where(Decision.event_id == event_id))
    items = [view(row, origin) for row, origin in rows]
    return events.DecisionList(items=items, total=len(items))


def entry(row: Decision) -> Entry:
    """Return what follows from an entry."""
    return Entry(row.action, row.by_service, row.reason, row.commit)


def view(row: Decision, origin: str | None = None) -> events.Decision:
    """Return an entry as it is told."""
    return events.Decision(
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


_OLDEST_FIRST = select(Decision).order_by(Decision.at, Decision.id)
_ORIGINAL = aliased(Decision)
_WITH_ORIGIN = (
    select(Decision, _ORIGINAL.event_id)
    .outerjoin(_ORIGINAL, Decision.original_id == _ORIGINAL.id)
    .order_by(Decision.at, Decision.id)
)


def _follow(session: Session, event: Event, at: datetime) -> None:
    """Bring an event into the state that its log leads to."""
    before, event.state = event.state, state_after(row.action for row in log(session, event.id))
    if event.state is before:
        return
    event.changed_at = at
    if State.EXPECTED in {before, event.state}:
        _judge_again(session, event)


def _judge_again(session: Session, event: Event) -> None:
    """Let the series of an event be judged from their new baseline, or without it."""
    moved = select(EventDrift.series_id).where(EventDrift.event_id == event.id, EventDrift.series_id.is_not(None))
    session.execute(
        update(Series)
        .where(Series.id.in_(moved))
        .values(version=Series.version + 1)
        .execution_options(synchronize_session=False)
    )
