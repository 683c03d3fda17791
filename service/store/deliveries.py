"""The log of deliveries: which event was told through which channel, and what is to be tried again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from runner.contract.report import hash_of
from service.rules.delivery_schedule import wait_after
from service.schemas import events
from service.schemas.events import Action, State
from service.store.models import Channel, Decision, Delivery, Event

LEASE = timedelta(minutes=5)
"""How long a message belongs to the process that sends it; it is free again if that was killed."""


class Occasion(NamedTuple):
    """Why an event is told."""

    event_id: str
    name: str


def channel(session: Session, name: str, now: datetime) -> Channel:
    """Return the row of a channel. One that is new tells nothing of what was known before."""
    row = session.get(Channel, name)
    if row is None:
        row = Channel(name=name, since=now, digest_at=None)
        session.add(row)
        session.flush()
    return row


def untold(session: Session, name: str, since: datetime) -> list[Occasion]:
    """Return what has happened since a time and was not told through a channel: what is new, and what came back.

    An event is told once it is confirmed, while nobody has decided about it.
    """
    rows = session.execute(select(Delivery.event_id, Delivery.occasion).where(Delivery.channel == name))
    known = {Occasion(*row) for row in rows}
    waiting = (Event.found, Event.confirmed, Event.merged_into.is_(None))
    new = session.scalars(
        select(Event.id)
        .where(*waiting, Event.state == State.NEW, Event.first_seen_at >= since)
        .order_by(Event.committed_at, Event.number)
    )
    reopening = func.max(Decision.id)
    back = session.execute(
        select(Event.id, reopening)
        .join(Decision, Decision.event_id == Event.id)
        .where(*waiting, Event.state == State.REOPENED, Decision.action == Action.REOPEN, Decision.at >= since)
        .group_by(Event.id)
        .order_by(reopening)
    )
    occasions = [Occasion(event, "new") for event in new]
    occasions += [Occasion(event, f"reopened {decision}") for event, decision in back]
    return [one for one in occasions if one not in known]


def claim(session: Session, name: str, occasions: Sequence[Occasion], now: datetime) -> str:
    """Note a message that is about to be sent; return its key."""
    key = hash_of([name, *sorted(occasions)])
    session.add_all(
        Delivery(
            channel=name,
            event_id=one.event_id,
            occasion=one.name,
            message_id=key,
            attempts=1,
            next_at=now + LEASE,
            sent_at=None,
            error=None,
        )
        for one in occasions
    )
    session.flush()
    return key


def claim_due(session: Session, name: str, now: datetime) -> list[str]:
    """Take on the messages that were not sent and may be tried again; return their keys."""
    due = (Delivery.channel == name, Delivery.sent_at.is_(None), Delivery.next_at <= now)
    rows = session.scalars(select(Delivery).where(*due).order_by(Delivery.id).with_for_update()).all()
    for row in rows:
        row.attempts += 1
        row.next_at = now + LEASE
    session.flush()
    return list(dict.fromkeys(row.message_id for row in rows if row.message_id))


def events_of(session: Session, key: str) -> list[str]:
    """Return the events that a message tells."""
    return list(session.scalars(select(Delivery.event_id).where(Delivery.message_id == key).order_by(Delivery.id)))


def listed(session: Session, event_id: str) -> events.DeliveryList:
    """Return what was told of an event, or is to be told again, oldest first."""
    rows = session.scalars(select(Delivery).where(Delivery.event_id == event_id).order_by(Delivery.id))
    items = [
        events.Delivery(
            channel=row.channel,
            occasion="new" if row.occasion == "new" else "reopened",
            attempts=row.attempts,
            sent_at=row.sent_at,
            next_at=None if row.sent_at else row.next_at,
            error=row.error,
        )
        for row in rows
    ]
    return events.DeliveryList(items=items, total=len(items))


def note(session: Session, key: str, trouble: str | None, now: datetime) -> None:
    """Note that a message was taken; or why it was not, so that it is tried again."""
    for row in session.scalars(select(Delivery).where(Delivery.message_id == key)):
        if trouble is None:
            row.sent_at, row.error = now, None
        else:
            row.error, row.next_at = trouble[:1000], now + wait_after(row.attempts)
