"""Sends letters by SMTP."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from service.config.notifications import EmailChannel
from service.notify.message import Letter

TIMEOUT = 20
"""Seconds to wait for the server, at each step."""


class NotSentError(Exception):
    """A letter was not sent; the message says why, in one line."""


def compose(letter: Letter, channel: EmailChannel, now: datetime) -> EmailMessage:
    """Make the mail. It has the same Message-ID whenever it is sent, so that a receiver can drop a second copy."""
    message = EmailMessage(policy=SMTP)
    message["Subject"] = letter.subject
    message["From"] = channel.sender
    message["To"] = ", ".join(channel.to)
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{letter.key}.{channel.name}@{channel.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(letter.lines) + "\n")
    return message


def send(letter: Letter, channel: EmailChannel, environment: Mapping[str, str], now: datetime) -> None:
    """Hand a letter to the channel's server.

    Raises
    ------
    NotSentError
        Where the server does not take it.
    """
    try:
        with _connect(channel) as server:
            if channel.user is not None and channel.password_variable is not None:
                server.login(channel.user, _password(channel.password_variable, environment))
            server.send_message(compose(letter, channel, now))
    except (OSError, smtplib.SMTPException) as error:
        raise NotSentError(f"{channel.host} port {channel.port}: {error or type(error).__name__}") from error


def _connect(channel: EmailChannel) -> smtplib.SMTP:
    if channel.security == "tls":
        return smtplib.SMTP_SSL(channel.host, channel.port, timeout=TIMEOUT, context=ssl.create_default_context())
    server = smtplib.SMTP(channel.host, channel.port, timeout=TIMEOUT)
    if channel.security == "starttls":
        try:
            server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
    return server


def _password(variable: str, environment: Mapping[str, str]) -> str:
    try:
        return environment[variable]
    except KeyError:
        raise NotSentError(f"the password is missing: set the environment variable {variable}") from None
