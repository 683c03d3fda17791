"""Lists the events that a channel has not sent yet: new, reopened and, if they were sent before, withdrawn ones."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from service.rules.events.lifecycle import OPEN
from service.schemas.triage import Action, State
from service.store.models import Channel, DecisionRow, DeliveryRow, Event


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
    sendable_conditions = (Event.still_detected, Event.confirmed, Event.merged_into.is_(None))
    new_event_ids = session.scalars(
        select(Event.id)
        .where(*sendable_conditions, Event.state == State.NEW, Event.first_seen_at >= since)
        .order_by(Event.committed_at, Event.number)
    )
    newest_decision = func.max(DecisionRow.id)  # of the actions that each query selects
    withdrawal_message = select(DeliveryRow.event_id).where(
        DeliveryRow.channel == channel_name,
        DeliveryRow.event_id == Event.id,
        DeliveryRow.occasion.startswith("withdrawn"),
    )
    reopened_events = session.execute(
        select(Event.id, newest_decision)
        .join(DecisionRow, DecisionRow.event_id == Event.id)
        .where(
            *sendable_conditions,
            or_(Event.state == State.REOPENED, Event.state.in_(OPEN) & withdrawal_message.exists()),
            DecisionRow.action == Action.REOPEN,
            DecisionRow.at >= since,
        )
        .group_by(Event.id)
        .order_by(newest_decision)
    )
    earlier_message = select(DeliveryRow.event_id).where(
        DeliveryRow.channel == channel_name, DeliveryRow.event_id == Event.id, DeliveryRow.sent_at <= DecisionRow.at
    )
    withdrawn_events = session.execute(
        select(Event.id, newest_decision)
        .join(DecisionRow, DecisionRow.event_id == Event.id)
        .where(Event.merged_into.is_(None), Event.state == State.WITHDRAWN)
        .where(DecisionRow.action == Action.WITHDRAW, DecisionRow.at >= since, earlier_message.exists())
        .group_by(Event.id)
        .order_by(newest_decision)
    )
    occasions = [Occasion(event, "new") for event in new_event_ids]
    occasions += [Occasion(event, f"withdrawn {decision}") for event, decision in withdrawn_events]
    occasions += [Occasion(event, f"reopened {decision}") for event, decision in reopened_events]
    return [occasion for occasion in occasions if occasion not in logged_occasions]
