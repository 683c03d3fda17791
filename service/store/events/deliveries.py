"""The log of deliveries: which event was sent through which channel, and which messages have to be sent again.

A message is sent again after a failure (:mod:`service.rules.delivery_schedule` says when), or if the process that sent
it was killed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from runner.contract.report import hash_document
from service.rules.delivery_schedule import LEASE, choose_wait
from service.schemas import triage
from service.store.events.unsent_events import Occasion
from service.store.models import DeliveryRow

_OCCASIONS: dict[str, Literal["new", "reopened", "withdrawn"]] = {
    "new": "new",
    "reopened": "reopened",
    "withdrawn": "withdrawn",
}
"""The API's word for the first word of an occasion's name."""
_MAX_PROBLEM_CHARACTERS = 1000
"""Maximum length of the problem of a failed attempt."""


def claim_message(session: Session, channel_name: str, occasions: Sequence[Occasion], now: datetime) -> str:
    """Claim a new message: log that it is about to be sent, so that no other process sends it; return its id."""
    message_id = hash_document([channel_name, *sorted(occasions)])
    session.add_all(
        DeliveryRow(
            channel=channel_name,
            event_id=occasion.event_id,
            occasion=occasion.name,
            message_id=message_id,
            attempts=1,
            next_at=now + LEASE,
            sent_at=None,
            error=None,
        )
        for occasion in occasions
    )
    session.flush()
    return message_id


def claim_due_messages(session: Session, channel_name: str, now: datetime) -> list[str]:
    """Claim the unsent messages that are due for another attempt; return their ids."""
    is_due = (DeliveryRow.channel == channel_name, DeliveryRow.sent_at.is_(None), DeliveryRow.next_at <= now)
    rows = session.scalars(select(DeliveryRow).where(*is_due).order_by(DeliveryRow.id).with_for_update()).all()
    for row in rows:
        row.attempts += 1
        row.next_at = now + LEASE
    session.flush()
    return list(dict.fromkeys(row.message_id for row in rows if row.message_id))


def list_events_of_message(session: Session, message_id: str) -> list[str]:
    """Return the events of a message."""
    return list(
        session.scalars(
            select(DeliveryRow.event_id).where(DeliveryRow.message_id == message_id).order_by(DeliveryRow.id)
        )
    )


def list_returned_events(session: Session, message_id: str) -> set[str]:
    """Return the events of a message that it reports again: they were reopened, or are certain again."""
    query = select(DeliveryRow.event_id).where(
        DeliveryRow.message_id == message_id, DeliveryRow.occasion.startswith("reopened")
    )
    return set(session.scalars(query))


def list_page(session: Session, event_id: str, limit: int, offset: int) -> triage.DeliveryList:
    """Return a page of the deliveries of an event, oldest first."""
    is_of_event = DeliveryRow.event_id == event_id
    total = session.scalar(select(func.count()).select_from(DeliveryRow).where(is_of_event)) or 0
    rows = session.scalars(select(DeliveryRow).where(is_of_event).order_by(DeliveryRow.id).limit(limit).offset(offset))
    items = [
        triage.Delivery(
            channel=row.channel,
            # An occasion is "new", or "reopened" or "withdrawn" with the number of the decision.
            occasion=_OCCASIONS[row.occasion.split()[0]],
            attempts=row.attempts,
            sent_at=row.sent_at,
            next_at=None if row.sent_at else row.next_at,
            error=row.error,
        )
        for row in rows
    ]
    return triage.DeliveryList(items=items, total=total, limit=limit, offset=offset)


def record_attempt(session: Session, message_id: str, problem: str | None, now: datetime) -> None:
    """Mark a message as sent if there was no problem (None).

    Otherwise store the problem, and schedule the next attempt.
    """
    for row in session.scalars(select(DeliveryRow).where(DeliveryRow.message_id == message_id)):
        if problem is None:
            row.sent_at = now
            row.error = None
        else:
            row.error = problem[:_MAX_PROBLEM_CHARACTERS]
            row.next_at = now + choose_wait(row.attempts)
