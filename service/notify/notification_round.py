"""A round of notifications: the messages that are due are claimed, and delivered through every channel."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from service.config.notifications import ChannelSettings, NotificationSettings, load_notification_settings
from service.config.settings import Config
from service.notify import delivery
from service.rules import delivery_schedule
from service.rules.events.silence import matches_pattern
from service.schemas.triage import EventSummary
from service.store.engine.database import Database
from service.store.events import deliveries, events, unsent_events

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RoundResult:
    """The result of a round."""

    n_sent: int = 0
    failures: list[str] = field(default_factory=list)
    """Why messages were not sent: one line for each channel that failed."""


def run_round(
    database: Database, settings: NotificationSettings, environment: Mapping[str, str], now: datetime
) -> RoundResult:
    """Send the messages that are due through every channel.

    Each message is stored as a delivery before it is sent, and marked as sent afterwards. If sending fails or is
    interrupted, the message is sent again later with the same key. Two processes never send the same message at the
    same time.
    """
    result = RoundResult()
    for channel in settings.channel:
        problem: str | None = None
        for key in _claim_messages(database, channel, now):
            # After a failure, do not call the receiver again in this round: its other messages would fail as well.
            if problem is None:
                message = delivery.build_message(database, key, settings.url, now)
                problem = delivery.send_message(message, channel, environment, now)
            with database.writing() as session:
                deliveries.record_attempt(session, key, problem, now)
            if problem is None:
                result.n_sent += 1
        if problem is not None:
            log.warning("not sent: %s: %s", channel.name, problem)
            result.failures.append(f"{channel.name}: {problem}")
    return result


def send_due_notifications(database: Database, config: Config) -> None:
    """Run a round with the settings as they are now: a change of the file takes effect without a restart."""
    settings = load_notification_settings(config.home, config.notifications.file)
    run_round(database, settings, os.environ, datetime.now(UTC))


def _claim_messages(database: Database, channel: ChannelSettings, now: datetime) -> list[str]:
    """Claim the messages that are due: those that failed before, and new ones; return their keys."""
    with database.writing() as session:
        row = unsent_events.get_or_create_channel(session, channel.name, now)
        since = row.since
        # The time of the first digest depends on when the channel was set up.
        if not delivery_schedule.may_send(channel, now, row.digest_at or since):
            return []
        if channel.digest is not None:
            row.digest_at = delivery_schedule.find_due_time_of_digest(channel, now)
        retries = deliveries.claim_due_messages(session, channel.name, now)
        occasions = unsent_events.list_unsent_events(session, channel.name, since)
        event_by_id = {
            event.id: event for event in events.list_summaries(session, [occasion.event_id for occasion in occasions])
        }
        new_occasions = [
            occasion
            for occasion in occasions
            if occasion.event_id in event_by_id and _wants_event(channel, event_by_id[occasion.event_id])
        ]
        batches = delivery_schedule.group_events_into_messages(channel, new_occasions)
        return retries + [deliveries.claim_message(session, channel.name, batch, now) for batch in batches]


def _wants_event(channel: ChannelSettings, event: EventSummary) -> bool:
    """Return whether a channel wants to be notified of an event."""
    return (
        not event.silenced
        and matches_pattern(channel.subject, event.subject)
        and (channel.only == "all" or (event.direction.has_regressions and not event.within_budget))
    )
