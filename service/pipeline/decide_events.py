"""Adds decisions to the logs of events, and updates the states of the events from their logs."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.rules.events.lifecycle import (
    CLOSED,
    OPEN,
    LogEntry,
    find_state_after,
    list_allowed_actions,
    list_carried_entries,
)
from service.schemas.triage import Action, DecisionRequest, EventDirection, State
from service.store.events import assignees_and_snoozes, decisions
from service.store.models import DecisionRow, Event, EventDriftRow, Series


class DecisionNotAllowedError(Exception):
    """The event's state does not allow the decision."""

    def __init__(self, state: State) -> None:
        super().__init__(state.value)
        self.state = state


def add_decision(session: Session, event: Event, request: DecisionRequest, author: str) -> DecisionRow:
    """Add the decision of a person; whoever acknowledges an event without an assignee becomes its assignee.

    Raises
    ------
    DecisionNotAllowedError
        If the event's state does not allow the decision.
    """
    if request.action not in list_allowed_actions(event.state, EventDirection(event.document["direction"])):
        raise DecisionNotAllowedError(event.state)
    entry = LogEntry(request.action, by_service=False, reason=request.reason, commit=request.commit)
    if request.action is Action.ACKNOWLEDGE and not event.assignee:
        assignees_and_snoozes.assign_event(event, author)
    return add_entry(session, event, entry, author, datetime.now(UTC))


def add_entry(session: Session, event: Event, entry: LogEntry, author: str, decided_at: datetime) -> DecisionRow:
    """Add an entry to the log of an event, and update the event's state."""
    row = DecisionRow(
        event_id=event.id,
        action=entry.action,
        author=author,
        by_service=entry.by_service,
        at=decided_at,
        reason=entry.reason,
        commit=entry.commit,
        original_id=None,
    )
    session.add(row)
    session.flush()
    _update_state(session, event, decided_at)
    return row


def copy_log(session: Session, origin_id: str, event: Event) -> None:
    """Copy the log of an event, given by its id, to another event, which continues it or was split off from it.

    Decisions that the other event already has, as its own or as copies, are left out. Its state follows from its new
    log.
    """
    copied_ids = {row.original_id or row.id for row in decisions.read_log(session, event.id)}
    origin_log = decisions.read_log(session, origin_id)
    for index in list_carried_entries([decisions.build_entry(row) for row in origin_log]):
        row = origin_log[index]
        original_id = row.original_id or row.id
        if original_id in copied_ids:
            continue
        session.add(
            DecisionRow(
                event_id=event.id,
                action=row.action,
                author=row.author,
                by_service=row.by_service,
                at=row.at,
                reason=row.reason,
                commit=row.commit,
                original_id=original_id,
            )
        )
    session.flush()
    _update_state(session, event, event.changed_at)


def _update_state(session: Session, event: Event, changed_at: datetime) -> None:
    """Set an event's state from its log.

    A new state ends a snooze. If it changes the baseline of the event's series, they are marked stale.
    """
    previous_state = event.state
    event.state = find_state_after(map(decisions.build_entry, decisions.read_log(session, event.id)))
    if event.state is previous_state:
        return
    event.changed_at = changed_at
    assignees_and_snoozes.wake_event(event)
    if event.state in OPEN and previous_state in CLOSED:
        event.found_at = changed_at  # lists of new events show the event once more
    if event.state is State.EXPECTED:
        _forget_runs_of_withdrawn_drifts(session, event)
    if State.EXPECTED in {previous_state, event.state}:
        mark_series_stale(session, event)


def _forget_runs_of_withdrawn_drifts(session: Session, event: Event) -> None:
    """Let only the drifts that an event still has become baselines: nobody has decided about the others."""
    session.execute(
        update(EventDriftRow)
        .where(EventDriftRow.event_id == event.id, EventDriftRow.still_detected.is_(False))
        .values(run_after=None)
        .execution_options(synchronize_session=False)
    )


def mark_series_stale(session: Session, event: Event) -> None:
    """Mark the series of an event to be judged again, because a decision adds or removes their baseline."""
    series_of_event = select(EventDriftRow.series_id).where(
        EventDriftRow.event_id == event.id, EventDriftRow.series_id.is_not(None)
    )
    session.execute(
        update(Series)
        .where(Series.id.in_(series_of_event))
        .values(version=Series.version + 1)
        .execution_options(synchronize_session=False)
    )
