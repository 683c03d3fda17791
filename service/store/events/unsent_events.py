"""Lists the events that a channel has not sent yet: new, reopened and, if they were sent before, withdrawn ones."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnExpressionArgument, func, or_, select
from sqlalchemy.orm import Session

from service.rules.events.lifecycle import OPEN
from service.schemas.triage import Action, State
from service.store.models import Channel, DecisionRow, DeliveryRow, Event

_SENDABLE_CONDITIONS = (Event.still_detected, Event.confirmed, Event.merged_into.is_(None))
"""The conditions on an event that is sent, unless it is withdrawn."""


class Occasion(NamedTuple):
    """The reason for a notification: the event is new, was reopened, or was withdrawn after it had been sent."""

    event_id: str
    name: str
    """``new``; or ``reopened`` or ``withdrawn`` with the number of the decision, as both can happen repeatedly."""


def get_or_create_channel(session: Session, channel_name: str, now: datetime) -> Channel:
    """Return the row of a channel; if it is new, it sends no events from before ``now``."""
    row = session.get(Channel, channel_name)
    if row is None:
        row = Channel(name=channel_name, since=now, digest_at=None)
        session.add(row)
        session.flush()
    return row


def list_unsent_events(session: Session, channel_name: str, since: datetime) -> list[Occasion]:
    """Return the new, reopened and withdrawn events since a time that are in no message to a channel yet.

    An event is sent once it is confirmed, unless somebody has decided about it before; so no suspicion is sent. Its
    withdrawal is sent only if the event was sent earlier, and that it is certain again only if its withdrawal was sent.
    """
    rows = session.execute(
        select(DeliveryRow.event_id, DeliveryRow.occasion).where(DeliveryRow.channel == channel_name)
    )
    logged_occasions = {Occasion(*row) for row in rows}
    occasions = [
        *_list_new_events(session, since),
        *_list_withdrawn_events(session, channel_name, since),
        *_list_reopened_events(session, channel_name, since),
    ]
    return [occasion for occasion in occasions if occasion not in logged_occasions]


def _list_new_events(session: Session, since: datetime) -> list[Occasion]:
    """Return the confirmed events since a time about which nobody has decided."""
    event_ids = session.scalars(
        select(Event.id)
        .where(*_SENDABLE_CONDITIONS, Event.state == State.NEW, Event.first_seen_at >= since)
        .order_by(Event.committed_at, Event.number)
    )
    return [Occasion(event_id, "new") for event_id in event_ids]


def _list_withdrawn_events(session: Session, channel_name: str, since: datetime) -> list[Occasion]:
    """Return the events that were withdrawn since a time, after a message about them."""
    earlier_message = select(DeliveryRow.event_id).where(
        DeliveryRow.channel == channel_name, DeliveryRow.event_id == Event.id, DeliveryRow.sent_at <= DecisionRow.at
    )
    conditions = (Event.merged_into.is_(None), Event.state == State.WITHDRAWN, earlier_message.exists())
    return _list_decided_events(session, Action.WITHDRAW, since, *conditions, name="withdrawn")


def _list_reopened_events(session: Session, channel_name: str, since: datetime) -> list[Occasion]:
    """Return the events that were reopened since a time: by a person, or after a message about their withdrawal."""
    withdrawal_message = select(DeliveryRow.event_id).where(
        DeliveryRow.channel == channel_name,
        DeliveryRow.event_id == Event.id,
        DeliveryRow.occasion.startswith("withdrawn"),
    )
    may_be_sent = or_(Event.state == State.REOPENED, Event.state.in_(OPEN) & withdrawal_message.exists())
    return _list_decided_events(session, Action.REOPEN, since, *_SENDABLE_CONDITIONS, may_be_sent, name="reopened")


def _list_decided_events(
    session: Session, action: Action, since: datetime, *conditions: ColumnExpressionArgument[bool], name: str
) -> list[Occasion]:
    """Return the newest decision of a kind since a time about each event that satisfies conditions, oldest first."""
    newest_decision = func.max(DecisionRow.id)
    rows = session.execute(
        select(Event.id, newest_decision)
        .join(DecisionRow, DecisionRow.event_id == Event.id)
        .where(DecisionRow.action == action, DecisionRow.at >= since, *conditions)
        .group_by(Event.id)
        .order_by(newest_decision)
    )
    return [Occasion(event_id, f"{name} {decision}") for event_id, decision in rows]
