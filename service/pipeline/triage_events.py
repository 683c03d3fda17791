"""Makes one decision about several events, and marks them: who looks into them, until when they are snoozed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from service.pipeline import decide_events
from service.schemas.triage import DecisionRequest, Refusal, TriageAction, TriageReceipt, TriageRequest
from service.store import event_marks, events
from service.store.models import Event


def triage(session: Session, request: TriageRequest, author: str, now: datetime) -> TriageReceipt:
    """Decide about each event. Those that do not allow it stay as they are, and the receipt says why.

    Parameters
    ----------
    author
        Who decides.
    now
        A snooze ends after this time.
    """
    done: list[str] = []
    refused: list[Refusal] = []
    for event_id in dict.fromkeys(request.events):
        problem = _decide(session, event_id, request, author, now)
        if problem:
            refused.append(Refusal(event_id=event_id, reason=problem))
        else:
            done.append(event_id)
    return TriageReceipt(done=done, refused=refused)


def _decide(session: Session, event_id: str, request: TriageRequest, author: str, now: datetime) -> str:
    """Decide about one event; return why it does not allow that, if it does not."""
    event = events.find(session, event_id)
    if event is None:
        return "There is no such event."
    if event.merged_into is not None:
        return f"It was merged into event {event.merged_into}."
    decision = request.action.decision
    if decision is None:
        return _mark(session, event, request, now)
    try:
        decide_events.decide(session, event, DecisionRequest(action=decision, reason=request.reason), author)
    except decide_events.DecisionNotAllowedError as error:
        return f"It is {error.state.replace('_', ' ')} already."
    return ""


def _mark(session: Session, event: Event, request: TriageRequest, now: datetime) -> str:
    if request.action is TriageAction.ASSIGN:
        event_marks.assign(event, request.assignee or "")
    elif request.action is TriageAction.WAKE:
        event_marks.wake(event)
    elif request.until is not None and request.until <= now:
        return "The snooze would end in the past."
    else:
        event_marks.snooze(session, event, request.until)
    return ""
