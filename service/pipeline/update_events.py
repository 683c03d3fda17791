"""Keeps the events in step with the drifts, and adds what the service decides about them by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from datetime import UTC, datetime
from typing import cast

from sqlalchemy import Table, bindparam, select, update
from sqlalchemy.orm import Session

from service.pipeline import decide_events
from service.rules.events import headline
from service.rules.events.assemble import AssembledEvents, assemble
from service.rules.events.automatic_decisions import new_entries
from service.rules.events.carry_over import KnownEvent
from service.rules.events.grouping import LocatedDrift
from service.schemas.events import State
from service.store import cross_measurements, decisions, event_drifts
from service.store.engine import bulk
from service.store.engine.database import Database
from service.store.models import Drift, Event, EventDrift, Subject

SERVICE = "faultwatch"
"""Author of what the service decides by itself."""
_AT_ONCE = 500
"""Drifts that are filed in one transaction."""


def refresh(database: Database) -> bool:
    """Make the events of every subject of which drifts have changed.

    Returns whether there are series to judge again: an event that is expected, because one that it was split from is,
    gives its series another baseline.
    """
    with database.reading() as session:
        stale = list(session.scalars(select(Subject.id).where(Subject.drifts_version != Subject.events_version)))
    again = False
    for subject_id in stale:
        _mark_unchanged(database, subject_id)
        with database.writing() as session:
            again |= _refresh(session, subject_id)
    return again


def _mark_unchanged(database: Database, subject_id: int) -> None:
    """File the drifts that were found anew just as they are known: most are, and to see it takes long.

    So it is seen before others wait, and holds for as long as no drift of the subject is found or told differently.
    """
    version = select(Subject.drifts_version).where(Subject.id == subject_id)
    with database.reading() as session:
        seen, events = session.scalar(version), event_drifts.unchanged(session, subject_id)
    for chunk in bulk.chunks(events.items(), _AT_ONCE):
        with database.writing() as session:
            if session.scalar(version) != seen:
                return
            _write_events(session, dict(chunk))


def _refresh(session: Session, subject_id: int) -> bool:
    subject = session.scalars(select(Subject).where(Subject.id == subject_id).with_for_update()).one()
    if subject.drifts_version == subject.events_version:
        return False
    updated = event_drifts.update_all(session, subject_id)
    again, filed = _make_events(session, subject_id, updated) if updated.moved else (False, set[str]())
    _mark_drifts(session, updated.refreshed | filed)
    cross_measurements.order(session, subject_id, updated.refreshed)
    subject.events_version = subject.drifts_version
    return again


def _make_events(session: Session, subject_id: int, updated: event_drifts.Updated) -> tuple[bool, set[str]]:
    """Make the events anew; return whether there are series to judge again, and the drifts that are filed elsewhere."""
    now = datetime.now(UTC)
    new = {row.drift_id: row for row in updated.new}
    places = event_drifts.positions(session, updated.new)
    stored = event_drifts.stored(session, subject_id)
    fresh = [
        event_drifts.trace(row, places[row.first_revision_id], places[row.last_revision_id]) for row in updated.new
    ]
    events = {event.id: event for event in session.scalars(select(Event).where(Event.subject_id == subject_id))}
    resolved = assemble(
        drifts=[*fresh, *(entry.trace for entry in stored if entry.found)],
        known=_known(stored, events),
        states={name: event.state for name, event in events.items()},
        taken=events,
    )
    _add_new(session, subject_id, resolved, events, now)
    filed = _file(session, resolved, new, stored, events)
    again = _carry_decisions(session, resolved, events)
    _tell(session, resolved, events, now, stored=stored, refreshed=updated.refreshed)
    _follow_up(session, subject_id, resolved, events, now)
    return again, filed


def _known(stored: Iterable[event_drifts.Stored], events: Mapping[str, Event]) -> dict[str, KnownEvent]:
    by_event: dict[str, list[LocatedDrift]] = defaultdict(list)
    for entry in stored:
        by_event[entry.event].append(entry.trace)
    return {name: KnownEvent(found, events[name].number, alive=events[name].found) for name, found in by_event.items()}


def _add_new(
    session: Session, subject_id: int, resolved: AssembledEvents, events: dict[str, Event], now: datetime
) -> None:
    number = max((event.number for event in events.values()), default=0)
    for place, name in enumerate(resolved.new, start=1):
        events[name] = Event(
            id=name,
            subject_id=subject_id,
            number=number + place,
            cause=resolved.members[name][0].cause,
            state=State.NEW,
            found=True,
            confirmed=False,
            committed_at=now,
            position=0,
            first_seen_at=now,
            changed_at=now,
            document={},
        )
        session.add(events[name])
    session.flush()


def _file(
    session: Session,
    resolved: AssembledEvents,
    new: Mapping[str, EventDrift],
    stored: Iterable[event_drifts.Stored],
    events: Mapping[str, Event],
) -> set[str]:
    """File each drift with its event, and leave with a merged event nothing that could be found again.

    Returns the drifts that are with another event than before, or with one for the first time.
    """
    filed = {entry.trace.drift_id: (entry.event, entry.trace.returned) for entry in stored}
    filed_anew: set[str] = set()
    for name, members in resolved.members.items():
        for member in members:
            place = name, member.drift_id in resolved.returned
            if filed.get(member.drift_id) == place:
                continue
            row = new.get(member.drift_id) or session.get_one(EventDrift, member.drift_id)
            row.event_id, row.returned = place
            filed_anew.add(member.drift_id)
    session.flush()
    event_drifts.insert(session, [row for drift, row in new.items() if drift in filed_anew])
    for name, into in resolved.merged.items():
        events[name].merged_into = into
        for table in (EventDrift, Drift):
            moved = update(table).where(table.event_id == name).values(event_id=into)
            session.execute(moved.execution_options(synchronize_session=False))
    return filed_anew


def _mark_drifts(session: Session, drifts: Set[str]) -> None:
    """Note with each drift which event it is part of."""
    _write_events(session, event_drifts.events_of(session, sorted(drifts)))


def _write_events(session: Session, events: Mapping[str, str]) -> None:
    rows = [{"drift": drift, "event": event} for drift, event in events.items()]
    if rows:
        table = cast(Table, Drift.__table__)
        marked = table.update().where(table.c.id == bindparam("drift")).values(event_id=bindparam("event"))
        session.connection().execute(marked, rows)


def _carry_decisions(session: Session, resolved: AssembledEvents, events: Mapping[str, Event]) -> bool:
    """Repeat logs where events were split or merged; tell whether any event is expected by that."""
    pairs = [(origin, name) for name, origins in resolved.origins.items() for origin in origins]
    for origin, name in (*pairs, *resolved.merged.items()):
        decide_events.copy_log(session, origin, events[name])
    return any(events[name].state is State.EXPECTED for _, name in (*pairs, *resolved.merged.items()))


def _tell(
    session: Session,
    resolved: AssembledEvents,
    events: Mapping[str, Event],
    now: datetime,
    *,
    stored: Iterable[event_drifts.Stored],
    refreshed: Set[str],
) -> None:
    """Word those events of which a drift is told differently, new or gone."""
    before: dict[str, set[str]] = defaultdict(set)
    for entry in stored:
        before[entry.event].add(entry.trace.drift_id)
    for name, event in events.items():
        members = resolved.members.get(name, [])
        ids = {member.drift_id for member in members}
        if event.found != bool(members):
            event.found, event.changed_at = bool(members), now
        if not members or (event.document and ids == before[name] and not ids & refreshed):
            continue
        told = event_drifts.drifts(session, sorted(ids))
        returned = [drift for drift in told if drift.id in resolved.returned]
        first = [drift for drift in told if drift.id not in resolved.returned] or returned
        event.cause, event.position = members[0].cause, members[-1].last
        event.committed_at = max(drift.committed_at for drift in told)
        event.confirmed = any(not drift.evidence.wants_rerun for drift in told)
        event.document = headline.summarise(first, returned)


def _follow_up(
    session: Session, subject_id: int, resolved: AssembledEvents, events: Mapping[str, Event], now: datetime
) -> None:
    logs = decisions.logs(session, subject_id)
    units = event_drifts.units(session, {turn.by.series for turns in resolved.transitions.values() for turn in turns})
    for name, turns in resolved.transitions.items():
        for entry in new_entries([decisions.entry(row) for row in logs.get(name, ())], turns, units):
            decide_events.add(session, events[name], entry, SERVICE, now)
