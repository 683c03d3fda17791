"""One round of telling: what is new goes out through each channel, once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from service.config.notifications import ChannelSettings, EmailChannel, NotificationSettings, WebhookChannel
from service.notify import mail, webhook
from service.notify.mail import NotSentError
from service.notify.message import Letter, write
from service.rules import delivery_schedule
from service.rules.events.silence import matches
from service.schemas.events import EventSummary
from service.schemas.history import Direction
from service.store import deliveries, events
from service.store.engine.database import Database

log = logging.getLogger(__name__)

SINGLY = 5
"""Events up to which each has a message of its own."""


@dataclass(slots=True)
class Outcome:
    """What came of a round."""

    sent: int = 0
    failed: list[str] = field(default_factory=list)
    """Why messages were not sent, one line a channel."""


def run(database: Database, settings: NotificationSettings, environment: Mapping[str, str], now: datetime) -> Outcome:
    """Send what is due through every channel.

    A message is noted in the log of deliveries before it is sent and marked afterwards. What fails, or is cut off in
    between, is sent again later, with the same key; several processes never send the same one at the same time.
    """
    outcome = Outcome()
    for channel in settings.channel:
        trouble = None
        for key in _claim(database, channel, now):
            # A receiver that is down is asked once a round, not once a message.
            trouble = trouble or _hand_over(_word(database, key, settings.url), channel, environment, now)
            with database.writing() as session:
                deliveries.note(session, key, trouble, now)
            outcome.sent += trouble is None
        if trouble is not None:
            log.warning("not sent: %s: %s", channel.name, trouble)
            outcome.failed.append(f"{channel.name}: {trouble}")
    return outcome


def _claim(database: Database, channel: ChannelSettings, now: datetime) -> list[str]:
    """Take on the messages that are due: those that failed before, and those for what is new."""
    with database.writing() as session:
        known = deliveries.channel(session, channel.name, now)
        since = known.since
        if not delivery_schedule.may_send(channel, now, known.digest_at or since):
            return []
        if channel.digest is not None:
            known.digest_at = delivery_schedule.digest_due(channel, now)
        again = deliveries.claim_due(session, channel.name, now)
        occasions = deliveries.untold(session, channel.name, since)
        told = {event.id: event for event in events.summaries(session, [occasion.event_id for occasion in occasions])}
        fresh = [one for one in occasions if one.event_id in told and _concerns(channel, told[one.event_id])]
        together = channel.digest is not None or (channel.quiet is not None and len(fresh) > 1) or len(fresh) > SINGLY
        batches = [fresh] if together and fresh else [[one] for one in fresh]
        return again + [deliveries.claim(session, channel.name, batch, now) for batch in batches]


def _concerns(channel: ChannelSettings, event: EventSummary) -> bool:
    return (
        not event.silenced
        and matches(channel.subject, event.subject)
        and (channel.only == "all" or event.direction is Direction.REGRESSION)
    )


def _word(database: Database, key: str, base: str) -> Letter:
    with database.reading() as session:
        told = events.summaries(session, deliveries.events_of(session, key))
    told.sort(key=lambda event: (event.direction is not Direction.REGRESSION, event.committed_at, event.id))
    return write(key, told, base)


def _hand_over(
    letter: Letter, channel: EmailChannel | WebhookChannel, environment: Mapping[str, str], now: datetime
) -> str | None:
    """Send a message; return why it was not taken, if it was not."""
    try:
        if isinstance(channel, EmailChannel):
            mail.send(letter, channel, environment, now)
        else:
            webhook.send(letter, channel, environment)
    except NotSentError as error:
        return str(error)
    return None
