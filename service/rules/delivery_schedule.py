"""Decides when a channel may send, which events share a message, and when a message is sent again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from service.config.notifications import DAYS, ChannelSettings, QuietHours

FIRST_WAIT = timedelta(minutes=1)
"""How long a channel waits after its first failed attempt."""
MAX_WAIT = timedelta(hours=6)
"""The longest wait of a channel, however many attempts have failed."""
LEASE = timedelta(minutes=5)
"""The lease of the process that sends a message. If the process is killed, another one sends the message again."""
MAX_SINGLE = 5
"""If there are at most this many new events, each gets its own message; if there are more, all share one."""

Event = TypeVar("Event")


def may_send(channel: ChannelSettings, now: datetime, last_digest: datetime | None) -> bool:
    """Return whether a channel sends its pending events now.

    Parameters
    ----------
    last_digest
        When the channel's last digest was due, or if there was none, when the channel was set up.
    """
    local_time = now.astimezone(ZoneInfo(channel.zone))
    if channel.quiet is not None and is_quiet(channel.quiet, local_time):
        return False
    if channel.digest is None:
        return True
    return last_digest is None or last_digest < find_due_time_of_digest(channel, now)


def is_quiet(quiet: QuietHours, local_time: datetime) -> bool:
    """Return whether a time lies within the quiet hours, which may span midnight."""
    moment = local_time.time()
    if quiet.start < quiet.end:
        return quiet.start <= moment < quiet.end
    return moment >= quiet.start or moment < quiet.end


def find_due_time_of_digest(channel: ChannelSettings, now: datetime) -> datetime:
    """Return the latest time, at or before ``now``, at which a digest of a channel with digests was due."""
    assert channel.digest is not None
    zone = ZoneInfo(channel.zone)
    local_time = now.astimezone(zone)
    # A digest is due every day, or on one day of the week.
    days_since_due_day = 0
    days_between = 1
    if channel.digest_day is not None:
        days_since_due_day = (local_time.weekday() - DAYS.index(channel.digest_day)) % len(DAYS)
        days_between = len(DAYS)
    due_at = datetime.combine(local_time.date() - timedelta(days=days_since_due_day), channel.digest, zone)
    if due_at.astimezone(UTC) > now:
        due_at = datetime.combine(due_at.date() - timedelta(days=days_between), channel.digest, zone)
    return due_at.astimezone(UTC)


def group_events_into_messages(channel: ChannelSettings, new_events: Sequence[Event]) -> list[Sequence[Event]]:
    """Return new events, grouped into the messages that report them.

    There is one message for a digest, for a channel with quiet hours, at whose end several events may be waiting, and
    if there are too many events. Otherwise there is one message for each event.
    """
    is_shared = (
        channel.digest is not None
        or (channel.quiet is not None and len(new_events) > 1)
        or len(new_events) > MAX_SINGLE
    )
    if is_shared and new_events:
        return [new_events]
    return [[event] for event in new_events]


def choose_wait(attempts: int) -> timedelta:
    """Return how long to wait after a number of failed attempts: exponential backoff up to a limit."""
    # The exponent is limited so that the product cannot overflow; the wait reaches its maximum long before.
    return min(MAX_WAIT, FIRST_WAIT * (1 << min(attempts - 1, 20)))
