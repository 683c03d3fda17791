"""Makes one decision about several events, marks them (who looks into them, a snooze), or silences their series."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from service.pipeline import decide_events
from service.schemas.triage import (
    DecisionRequest,
    Refusal,
    Silence,
    SilenceRequest,
    TriageAction,
    TriageReceipt,
    TriageRequest,
)
from service.store.events import assignees_and_snoozes, event_drifts, events, silences
from service.store.models import Event
from service.store.series import series


def triage_events(session: Session, request: TriageRequest, author: str, now: datetime) -> TriageReceipt:
    """Apply the request to each event; events that do not allow it do not change, and the receipt says why.

    Parameters
    ----------
    author
        The author of the decisions.
    now
        The current time; a snooze must end later.
    """
    decided_ids: list[str] = []
    refusals: list[Refusal] = []
    for event_id in dict.fromkeys(request.events):
        problem = _decide_event(session, event_id, request, author, now)
        if problem:
            refusals.append(Refusal(event_id=event_id, reason=problem))
        else:
            decided_ids.append(event_id)
    new_silences: list[Silence] = []
    if request.action is TriageAction.SILENCE:
        new_silences = _silence_series(session, decided_ids, request, author, now)
    return TriageReceipt(done=decided_ids, refused=refusals, silences=new_silences)


def _decide_event(session: Session, event_id: str, request: TriageRequest, author: str, now: datetime) -> str:
    """Apply the request to one event; return why the event does not allow it; empty if it does."""
    event = events.find_event(session, event_id)
    if event is None:
        return "There is no such event."
    if event.merged_into is not None:
        return f"The event was merged into event {event.merged_into}: decide on that event."
    decision = request.action.decision
    if decision is None:
        return _mark_event(session, event, request, now)
    try:
        decide_events.add_decision(session, event, DecisionRequest(action=decision, reason=request.reason), author)
    except decide_events.DecisionNotAllowedError as error:
        return f"The event is already {error.state.replace('_', ' ')}."
    return ""


def _mark_event(session: Session, event: Event, request: TriageRequest, now: datetime) -> str:
    """Assign, snooze or wake an event; return why this is impossible; empty if it is done."""
    if request.action is TriageAction.ASSIGN:
        assignees_and_snoozes.assign_event(event, request.assignee or "")
    elif request.action is TriageAction.WAKE:
        assignees_and_snoozes.wake_event(event)
    elif request.until is not None and request.until <= now:
        return f"The {request.action} would end in the past."
    elif request.action is TriageAction.SILENCE:
        # The series of all events are silenced together at the end.
        return "" if event_drifts.list_series_of_events(session, [event.id]) else "The event has no series to silence."
    else:
        assignees_and_snoozes.snooze_event(session, event, request.until)
    return ""


def _silence_series(
    session: Session, event_ids: Sequence[str], request: TriageRequest, author: str, now: datetime
) -> list[Silence]:
    """Silence the series of the given events, except series that are already silenced for at least as long."""
    assert request.until is not None  # TriageRequest requires it for a silence
    active_patterns = [
        pattern for pattern in silences.list_active_silences(session, now) if pattern.until >= request.until
    ]
    rows = []
    for series_id in event_drifts.list_series_of_events(session, event_ids):
        row = series.find_series(session, series_id)
        if row is None:
            continue
        names = row.subject.name, row.host.name, row.case.name, row.metric
        if any(pattern.covers(*names, now) for pattern in active_patterns):
            continue
        silence_request = SilenceRequest(series_id=series_id, until=request.until, reason=request.reason)
        silence = silences.add_silence(session, silence_request, author, now)
        if silence is not None:
            rows.append(silence)
    return silences.build_views(session, rows, now)
