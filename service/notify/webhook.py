"""Posts messages to an incoming webhook."""

from __future__ import annotations

from collections.abc import Mapping

from service.config.notifications import WebhookChannel
from service.notify import channel_address
from service.notify.mail import NotSentError
from service.notify.message import Message

TIMEOUT = (5, 20)
"""Time-outs in seconds: to connect, and between two parts of the answer."""


def send_message_to_webhook(message: Message, channel: WebhookChannel, environment: Mapping[str, str]) -> None:
    """Post a message. Its key is the same at each attempt, so that receivers can discard duplicates.

    Redirects are not followed: the receiver must not choose which other hosts the service calls.

    Raises
    ------
    NotSentError
        If the receiver refuses it or does not answer. The error does not contain the address, which is a secret.
    """
    import requests  # noqa: PLC0415 - takes long, and a service without a channel needs none of it

    try:
        with requests.post(
            channel_address.resolve_address(channel, environment),
            json=build_slack_body(message),
            headers={"Idempotency-Key": message.key},
            allow_redirects=False,
            timeout=TIMEOUT,
            stream=True,
        ) as response:
            status = response.status_code
    except (requests.RequestException, ValueError) as error:  # ValueError: the host name is not valid
        raise NotSentError(f"the receiver did not answer ({type(error).__name__})") from error
    if not 200 <= status < 300:
        raise NotSentError(
            f"the receiver answered {status}{' (redirects are not followed)' if status // 100 == 3 else ''}"
        )


def build_slack_body(message: Message) -> dict[str, str]:
    """Return the body of a request in Slack's format. The text has no links, mentions or markup."""
    text = "\n".join((message.subject, *message.lines))
    for character, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, escaped)
    return {"text": text}
