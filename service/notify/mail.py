"""Sends messages by SMTP."""

from __future__ import annotations

import logging
import smtplib
import ssl
from collections.abc import Mapping
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from service.config.notifications import EmailChannel
from service.notify.message import Message, make_single_line

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 20
"""Seconds to wait for the server at each step of the protocol."""


class NotSentError(Exception):
    """A message was not sent; the text contains the reason in one line."""


def compose_mail(message: Message, channel: EmailChannel, now: datetime) -> EmailMessage:
    """Return the mail. Its Message-ID is the same at each attempt, so that receivers can discard duplicates."""
    mail = EmailMessage(policy=SMTP)
    mail["Subject"] = message.subject
    mail["From"] = channel.sender
    mail["To"] = ", ".join(channel.to)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{message.key}.{channel.name}@{channel.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join(message.lines) + "\n")
    return mail


def send_mail(message: Message, channel: EmailChannel, environment: Mapping[str, str], now: datetime) -> None:
    """Send a message through the channel's mail server. Receivers that the server refuses are logged.

    Raises
    ------
    NotSentError
        If the server refuses the mail or all of its receivers, or does not answer.
    """
    try:
        with _connect_to_server(channel) as server:
            if channel.user is not None and channel.password_variable is not None:
                _sign_in(server, channel, _find_password(channel.password_variable, environment))
            refusals = server.send_message(compose_mail(message, channel, now))
    except (OSError, smtplib.SMTPException) as error:
        raise NotSentError(f"{channel.host} port {channel.port}: {error or type(error).__name__}") from error
    except UnicodeError as error:
        raise NotSentError(f"{channel.host!r} is not a valid host name") from error
    # Not an error: another attempt would send the mail to the other receivers once more.
    for receiver, (status, reply) in refusals.items():
        text = make_single_line(f"{status} {reply.decode(errors='replace')}")
        log.warning("%s: the mail server refused the receiver %s (%s)", channel.name, receiver, text)


def _sign_in(server: smtplib.SMTP, channel: EmailChannel, password: str) -> None:
    """Sign in at a mail server; raise NotSentError if the user name or the password cannot be sent."""
    try:
        server.login(channel.user or "", password)
    except UnicodeError:
        # smtplib sends user and password only in ASCII. Its own error would quote a part of the password.
        raise NotSentError(f"{channel.host}: the user name or the password contains non-ASCII characters") from None


def _connect_to_server(channel: EmailChannel) -> smtplib.SMTP:
    """Connect to the mail server of a channel, with TLS if the channel asks for it."""
    if channel.security == "tls":
        return smtplib.SMTP_SSL(
            channel.host, channel.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
        )
    server = smtplib.SMTP(channel.host, channel.port, timeout=TIMEOUT_SECONDS)
    if channel.security == "starttls":
        try:
            server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
    return server


def _find_password(variable: str, environment: Mapping[str, str]) -> str:
    """Return the password in an environment variable; raise NotSentError if the variable is not set."""
    try:
        return environment[variable]
    except KeyError:
        raise NotSentError(f"the password is missing: set the environment variable {variable}") from None
