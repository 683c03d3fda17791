"""Delivers a notification: builds the message about its events, and sends it through a channel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from service.config.notifications import ChatChannel, EmailChannel, WebhookChannel
from service.notify import mail, webhook
from service.notify.mail import NotSentError
from service.notify.message import MAX_EVENTS, Message, compose_message
from service.pipeline import next_bisect
from service.store.engine.database import Database
from service.store.events import deliveries, events


def build_message(database: Database, key: str, base_url: str, now: datetime) -> Message:
    """Return the message with a key, about the events that are stored under this key, as they are now."""
    with database.reading() as session:
        summaries = events.list_most_important(session, deliveries.list_events_of_message(session, key))
        steps = next_bisect.find_next_steps(session, summaries[:MAX_EVENTS], now)
        returned_events = deliveries.list_returned_events(session, key)
    return compose_message(key, summaries, base_url, steps, returned_events)


def send_message(
    message: Message,
    channel: EmailChannel | ChatChannel | WebhookChannel,
    environment: Mapping[str, str],
    now: datetime,
) -> str | None:
    """Send a message; return None if it was sent, or why it was not."""
    try:
        if isinstance(channel, EmailChannel):
            mail.send_mail(message, channel, environment, now)
        elif isinstance(channel, ChatChannel):
            from service.notify import chat  # noqa: PLC0415 - Apprise, which other services need not load

            chat.send_message_to_chat(message, channel, environment)
        else:
            webhook.send_message_to_webhook(message, channel, environment)
    except NotSentError as error:
        return str(error)
    return None
