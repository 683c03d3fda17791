"""Updates events after drifts have changed, and adds the service's own decisions about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from itertools import chain
from typing import cast

from sqlalchemy import Table, bindparam, select, update
from sqlalchemy.orm import Session

from service.pipeline import decide_events, order_cross_measurements
from service.rules.events import headline, importance, narrowing
from service.rules.events.assemble import AssembledEvents, assemble_events
from service.rules.events.automatic_decisions import build_certainty_entry, decide_automatically
from service.rules.events.event_matching import KnownEvent
from service.rules.events.grouping import LocatedDrift
from service.rules.events.leading_drift import choose_leading_drift, decide_direction
from service.rules.events.narrowing import BisectResult
from service.rules.series import noise_floor
from service.schemas.history import Drift
from service.schemas.triage import State
from service.store.bisects import bisect_results
from service.store.engine import bulk
from service.store.engine.database import Database
from service.store.events import decisions, event_drifts
from service.store.models import DriftRow, Event, EventDriftRow, Subject

SERVICE = "faultwatch"
"""Author of the service's own decisions."""
_DRIFTS_PER_TRANSACTION = 500
"""At most this many drifts are written in one transaction, so that other writers need not wait long."""


def update_events(database: Database, subjects: Collection[str] | None = None) -> bool:
    """Update the events of the subjects whose drifts have changed, among all subjects or the given ones.

    Return whether there are series to judge again: if an expected event was split or merged, its series may have
    another baseline.
    """
    is_stale = False
    for subject_id, name in _find_changed_subjects(database, subjects):
        _assign_unchanged_drifts(database, subject_id, name)
        with database.writing([name]) as session:
            is_stale |= _update_subject(session, subject_id)
    return is_stale


def have_drifts_changed(database: Database, subjects: Collection[str] | None = None) -> bool:
    """Return whether the drifts of any of the subjects have changed since its events were updated; None means all."""
    return bool(_find_changed_subjects(database, subjects))


def _find_changed_subjects(database: Database, subjects: Collection[str] | None) -> Sequence[tuple[int, str]]:
    """Return the ids and names of subjects whose drifts have changed since their events were updated."""
    query = select(Subject.id, Subject.name).where(Subject.drifts_version != Subject.events_version)
    if subjects is not None:
        query = query.where(Subject.name.in_(subjects))
    with database.reading() as session:
        return [(subject_id, name) for subject_id, name in session.execute(query)]


def refresh_prices(session: Session, series_ids: Iterable[int]) -> None:
    """Update the prices of the events of the given series, after a profile has shown the cost of a fault."""
    is_in_series = EventDriftRow.series_id.in_(list(series_ids))
    event_ids = list(
        session.scalars(select(EventDriftRow.event_id).where(is_in_series, EventDriftRow.still_detected).distinct())
    )
    for event in session.scalars(select(Event).where(Event.id.in_(event_ids))):
        founding_drifts, _ = _read_drifts_of_event(session, event)
        if founding_drifts:
            event.document = {**event.document, "price": headline.describe_price(founding_drifts)}
            _update_rank(event, founding_drifts)


def _read_drifts_of_event(session: Session, event: Event) -> tuple[list[Drift], list[Drift]]:
    """Return the original drifts of an event, and the drifts with which it came back.

    If only the latter are still detected, they are also returned as the original drifts.
    """
    conditions = EventDriftRow.event_id == event.id, EventDriftRow.still_detected
    has_returned = dict(
        session.execute(select(EventDriftRow.drift_id, EventDriftRow.returned).where(*conditions)).all()
    )
    drifts = event_drifts.read_drifts(session, sorted(has_returned))
    returned_drifts = [drift for drift in drifts if has_returned[drift.id]]
    return [drift for drift in drifts if not has_returned[drift.id]] or returned_drifts, returned_drifts


def _update_rank(event: Event, drifts: Sequence[Drift]) -> None:
    """Update the fields by which the list of events is filtered and sorted."""
    terms = importance.compute_terms(drifts, proven=bool(event.document.get("culprits")))
    event.direction = decide_direction(drifts)
    event.certainty, event.size, event.price = terms.certainty, terms.size, terms.price
    event.importance = importance.compute_importance(terms)
    only_builds = bool(event.document.get("only_builds"))
    event.below_floor = only_builds or noise_floor.is_below_floor(drifts, terms.certainty)


def refresh_culprits(session: Session, subject: str, drift_id: str, now: datetime) -> None:
    """Update the culprits of the event of a drift, after a bisect of the drift has ended."""
    event_id = event_drifts.map_events_by_drift(session, [drift_id]).get(drift_id)
    event = session.get(Event, event_id) if event_id else None
    if event is None or not event.document:
        return  # there is no summary to update
    founding_drifts, returned_drifts = _read_drifts_of_event(session, event)
    if not founding_drifts:
        return  # an event without drifts keeps its last summary
    # The summary is rebuilt from the drifts, so that no part from an earlier bisect contradicts this one.
    document = narrowing.narrow_event(
        headline.summarise_drifts(founding_drifts, returned_drifts),
        bisect_results.map_results_by_event(session, subject).get(event.id),
    )
    if document != event.document:
        event.document, event.changed_at = document, now
        _update_rank(event, founding_drifts)


def _assign_unchanged_drifts(database: Database, subject_id: int, subject_name: str) -> None:
    """Assign to their events the drifts that were detected again unchanged.

    Most drifts are unchanged, and comparing them takes long. So they are compared outside of the write lock; the result
    is valid while the version of the subject's drifts stays the same.
    """
    version_query = select(Subject.drifts_version).where(Subject.id == subject_id)
    with database.reading() as session:
        version_before = session.scalar(version_query)
        event_of_drift = event_drifts.map_events_of_unchanged_drifts(session, subject_id)
    for chunk in bulk.split_into_chunks(event_of_drift.items(), _DRIFTS_PER_TRANSACTION):
        with database.writing([subject_name]) as session:
            if session.scalar(version_query) != version_before:
                return  # the transaction that updates the events compares the other drifts
            _store_event_of_drifts(session, dict(chunk))


def _update_subject(session: Session, subject_id: int) -> bool:
    """Update the events of one subject from its drifts; return whether series have to be judged again."""
    subject = session.scalars(select(Subject).where(Subject.id == subject_id).with_for_update()).one()
    if subject.drifts_version == subject.events_version:
        return False
    drift_update = event_drifts.update_drifts(session, subject_id)
    is_stale = False
    reassigned_drifts: set[str] = set()
    if drift_update.has_moved:
        is_stale, reassigned_drifts = _rebuild_events(session, subject, drift_update)
    _copy_events_to_detected_drifts(session, drift_update.refreshed_drifts | reassigned_drifts)
    order_cross_measurements.order_cross_measurements(session, subject_id, drift_update.refreshed_drifts)
    subject.events_version = subject.drifts_version
    return is_stale


def _rebuild_events(
    session: Session, subject: Subject, drift_update: event_drifts.DriftUpdate
) -> tuple[bool, set[str]]:
    """Rebuild the events; return whether there are series to judge again, and the drifts whose event has changed."""
    # Assign the drifts to events: to stored ones if they continue, otherwise to new ones.
    now, subject_id = datetime.now(UTC), subject.id
    new_rows = {row.drift_id: row for row in drift_update.new_rows}
    stored_drifts = event_drifts.list_located_drifts(session, subject_id)
    current_drifts = [
        *event_drifts.locate_drifts(session, drift_update.new_rows),
        *(drift for drift in stored_drifts if drift.still_detected),
    ]
    events = {event.id: event for event in session.scalars(select(Event).where(Event.subject_id == subject_id))}
    assembled_events = assemble_events(current_drifts, _read_known_events(stored_drifts, events))
    _add_new_events(session, subject_id, assembled_events, events, now)
    # Remember which events are certain, to log at the end which no longer are.
    certain_events = {
        event_id
        for event_id, event in events.items()
        if event.still_detected and event.confirmed and not event.merged_into
    }
    reassigned_drifts = _assign_drifts(session, assembled_events, new_rows, stored_drifts, events)
    is_stale = _carry_decisions(session, assembled_events, events)
    # Bring the events up to date, and decide what follows from that.
    results = bisect_results.map_results_by_event(session, subject.name)
    _summarise_events(
        session,
        assembled_events,
        events,
        now,
        stored_drifts=stored_drifts,
        refreshed_drifts=drift_update.refreshed_drifts,
        results=results,
    )
    _decide_automatically(session, subject_id, assembled_events, events, now)
    _log_withdrawals(session, events, certain_events, now)
    return is_stale, reassigned_drifts


def _read_known_events(stored_drifts: Iterable[LocatedDrift], events: Mapping[str, Event]) -> dict[str, KnownEvent]:
    """Return the stored events with their drifts as the rules read them, by the event's id."""
    drifts_by_event: dict[str | None, list[LocatedDrift]] = defaultdict(list)
    for drift in stored_drifts:
        drifts_by_event[drift.event].append(drift)
    return {
        event_id: KnownEvent(drifts_by_event[event_id], event.number, alive=event.still_detected, state=event.state)
        for event_id, event in events.items()
    }


def _add_new_events(
    session: Session, subject_id: int, assembled_events: AssembledEvents, events: dict[str, Event], now: datetime
) -> None:
    """Add a row for each new event; its number follows those of the stored events.

    The fields that depend on its drifts get placeholders, which :func:`_summarise_events` replaces.
    """
    last_number = max((event.number for event in events.values()), default=0)
    for number, event_id in enumerate(assembled_events.new_events, start=last_number + 1):
        events[event_id] = Event(
            id=event_id,
            subject_id=subject_id,
            number=number,
            cause=assembled_events.members[event_id][0].cause,
            state=State.NEW,
            still_detected=True,
            confirmed=False,
            committed_at=now,
            position=0,
            first_seen_at=now,
            found_at=now,
            changed_at=now,
            importance=0,
            document={},
        )
        session.add(events[event_id])
    session.flush()


def _assign_drifts(
    session: Session,
    assembled_events: AssembledEvents,
    new_rows: Mapping[str, EventDriftRow],
    stored_drifts: Iterable[LocatedDrift],
    events: Mapping[str, Event],
) -> set[str]:
    """Assign each drift to its event, and move the drifts of merged events.

    Return the drifts that belong to another event than before, or to an event for the first time.
    """
    previous_assignments = {drift.drift_id: (drift.event, drift.returned) for drift in stored_drifts}
    reassigned_drifts: set[str] = set()
    for event_id, members in assembled_events.members.items():
        for member in members:
            assignment = event_id, member.drift_id in assembled_events.returned_drifts
            if previous_assignments.get(member.drift_id) == assignment:
                continue
            row = new_rows.get(member.drift_id) or session.get_one(EventDriftRow, member.drift_id)
            row.event_id, row.returned = assignment
            reassigned_drifts.add(member.drift_id)
    session.flush()
    event_drifts.insert_rows(session, [row for drift, row in new_rows.items() if drift in reassigned_drifts])
    for event_id, merge_target in assembled_events.merged_into.items():
        events[event_id].merged_into = merge_target
        for table in (EventDriftRow, DriftRow):
            statement = update(table).where(table.event_id == event_id).values(event_id=merge_target)
            session.execute(statement.execution_options(synchronize_session=False))
    return reassigned_drifts


def _copy_events_to_detected_drifts(session: Session, drift_ids: Set[str]) -> None:
    """Store the event of each drift in the row of the detected drift."""
    _store_event_of_drifts(session, event_drifts.map_events_by_drift(session, sorted(drift_ids)))


def _store_event_of_drifts(session: Session, event_of_drift: Mapping[str, str]) -> None:
    """Store the event of each drift, by the drift's id."""
    rows = [{"drift": drift, "event": event} for drift, event in event_of_drift.items()]
    if rows:
        table = cast(Table, DriftRow.__table__)
        statement = table.update().where(table.c.id == bindparam("drift")).values(event_id=bindparam("event"))
        session.connection().execute(statement, rows)


def _carry_decisions(session: Session, assembled_events: AssembledEvents, events: Mapping[str, Event]) -> bool:
    """Copy the logs of events that were split or merged; return whether any of them was or is expected.

    If the copy makes series lose their baseline, they are marked stale.
    """
    # Pairs of an event and the event that continues it.
    continuations = [(origin, target) for target, origins in assembled_events.origins.items() for origin in origins]
    continuations += assembled_events.merged_into.items()
    states = {events[event_id].state for pair in continuations for event_id in pair}
    for origin, target in continuations:
        decide_events.copy_log(session, origin, events[target])
        if events[origin].state is State.EXPECTED and events[target].state is not State.EXPECTED:
            # A later decision about the other event counts, so the series of the expected one lose their baseline.
            decide_events.mark_series_stale(session, events[target])
    return State.EXPECTED in states | {events[target].state for _, target in continuations}


def _summarise_events(
    session: Session,
    assembled_events: AssembledEvents,
    events: Mapping[str, Event],
    now: datetime,
    *,
    stored_drifts: Iterable[LocatedDrift],
    refreshed_drifts: Set[str],
    results: Mapping[str, BisectResult],
) -> None:
    """Update the summaries of the events with a drift that is new, has changed, or has disappeared.

    Parameters
    ----------
    stored_drifts
        The drifts of all events before this update.
    refreshed_drifts
        The ids of the drifts that were detected again, or for the first time.
    results
        The results of bisects, by the event's id.
    """
    previous_drifts: dict[str | None, set[str]] = defaultdict(set)
    for drift in stored_drifts:
        previous_drifts[drift.event].add(drift.drift_id)
    for name, event in events.items():
        members = assembled_events.members.get(name, [])
        ids = {member.drift_id for member in members}
        if event.still_detected != bool(members):
            event.still_detected, event.changed_at = bool(members), now
        is_unchanged = event.document and ids == previous_drifts[name] and not ids & refreshed_drifts
        if not members or is_unchanged:
            continue  # an event without drifts keeps its last summary
        drifts = event_drifts.read_drifts(session, sorted(ids))
        returned_drifts = [drift for drift in drifts if drift.id in assembled_events.returned_drifts]
        # If only drifts with which the event came back are left, they describe it.
        founding_drifts = [
            drift for drift in drifts if drift.id not in assembled_events.returned_drifts
        ] or returned_drifts
        # The members are in the order of the history: the first drift names the cause, the last one the position.
        event.cause, event.position = members[0].cause, members[-1].last
        # The date belongs to the commit that the event names, because other drifts may have wider ranges of candidates;
        # if the event came back, to the commit with which it did.
        leading_drifts = [choose_leading_drift(group) for group in (founding_drifts, returned_drifts) if group]
        event.committed_at = max(drift.committed_at for drift in leading_drifts)
        event.confirmed = any(not drift.evidence.wants_rerun for drift in drifts)
        event.document = narrowing.narrow_event(
            headline.summarise_drifts(founding_drifts, returned_drifts), results.get(name)
        )
        _update_rank(event, founding_drifts)


def _decide_automatically(
    session: Session, subject_id: int, assembled_events: AssembledEvents, events: Mapping[str, Event], now: datetime
) -> None:
    """Add the service's own decisions to the logs: events that were fixed, or that came back."""
    logs = decisions.read_logs(session, subject_id)
    all_transitions = chain.from_iterable(assembled_events.transitions.values())
    units = event_drifts.read_units(session, {transition.drift.series for transition in all_transitions})
    for name, transitions in assembled_events.transitions.items():
        entries = [decisions.build_entry(row) for row in logs.get(name, ())]
        for entry in decide_automatically(entries, transitions, units):
            decide_events.add_entry(session, events[name], entry, SERVICE, now)


def _log_withdrawals(session: Session, events: Mapping[str, Event], certain_before: Set[str], now: datetime) -> None:
    """Log that events are no longer certain, with the reason, or are certain again."""
    certain_now = {name for name, event in events.items() if event.still_detected and event.confirmed}
    candidates = {name for name, event in events.items() if event.state is State.WITHDRAWN} | (
        certain_before - certain_now
    )
    candidate_events = {name: events[name] for name in sorted(candidates) if not events[name].merged_into}
    withdrawn_drifts = event_drifts.map_withdrawn_drifts(session, list(candidate_events))
    for name, event in candidate_events.items():
        entry = build_certainty_entry(
            event.state,
            was_certain=name in certain_before,
            is_certain=name in certain_now,
            reasons=[row.withdrawal for row in withdrawn_drifts.get(name, []) if row.withdrawal],
        )
        if entry is not None:
            decide_events.add_entry(session, event, entry, SERVICE, now)
