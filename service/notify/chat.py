"""Sends messages to chat services through Apprise, which implements the protocol of each service.

Apprise would pass untrusted text to some services as markup, or as a mention of everybody. Mentions and addresses are
therefore broken here in every line, and Markdown is escaped for the services that interpret it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from html import escape
from urllib.parse import unquote, urlsplit

from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat
from apprise.result import AppriseResult

from service.config.loopback import LOOPBACK
from service.config.notifications import CHATS, Chat, ChatChannel
from service.notify import channel_address
from service.notify.mail import NotSentError
from service.notify.message import Message, make_single_line

_CONNECT_SECONDS, _READ_SECONDS = 5, 20
"""Time-outs: to connect to a service, and between two parts of its answer."""
_MIN_SECRET_CHARACTERS = 4
"""Length from which a part of an address may be secret. Hiding shorter parts would hide the same letters in words."""
_MAX_REASON_CHARACTERS = 300
_MARKUP_CHARACTER = re.compile(r"([\\`*_\[\]<>#!|~&])")
_MENTION = re.compile(r"(?<!\w)@|@(?=everyone|here|all|channel|room)")
_ADDRESS = re.compile(r":(?=//)")
_ZERO_WIDTH_SPACE = "\u200b"
"""An invisible character of zero width, which breaks a mention or an address."""

# The log records of both libraries contain addresses, which are secrets. Apprise also returns the reasons of failures.
logging.getLogger("apprise").propagate = False
logging.getLogger("urllib3").setLevel(logging.WARNING)


def send_message_to_chat(message: Message, channel: ChatChannel, environment: Mapping[str, str]) -> None:
    """Send a message; in several parts if the service limits the length.

    Raises
    ------
    NotSentError
        If the receiver refuses it or does not answer. The error does not contain the address, which is a secret.
    """
    url = channel_address.resolve_address(channel, environment)
    asset = AppriseAsset(
        app_id="Faultwatch",
        app_desc="Faultwatch",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
        storage_mode="memory",
    )
    receiver, chat = _build_receiver(url, asset, channel.variable_or_key)
    apprise = Apprise(asset=asset)
    apprise.add(receiver)
    body_format = NotifyFormat.MARKDOWN if chat.format == "markdown" else NotifyFormat.TEXT
    for part in split_text_into_parts(message, receiver.body_maxlen, chat):
        result = apprise.notify(body=part, body_format=body_format)
        if not result:
            raise NotSentError(f"{chat.name}: {hide_secrets(_find_reason(result), url)}")


def split_text_into_parts(message: Message, max_characters: int, chat: Chat) -> Iterator[str]:
    """Yield the text of a message in parts of whole lines.

    Parameters
    ----------
    max_characters
        The largest length of a part, after Apprise has escaped it, which makes some characters longer.
    """
    line_end = "  \n" if chat.format == "markdown" else "\n"
    part = ""
    for line in (message.subject, *message.lines):
        if line in message.links:
            formatted_line = chat.link.format(line)
        else:
            formatted_line = escape_line(line, markdown=chat.format == "markdown")
        formatted_line = _cut_line(formatted_line, max_characters)
        if part and _count_characters(part + line_end + formatted_line) > max_characters:
            yield part.strip()
            part = ""
        part += (line_end if part else "") + formatted_line
    yield part.strip()


def escape_line(line: str, *, markdown: bool) -> str:
    """Return a line as plain text: without markup or mentions and, except for commands, without clickable URLs."""
    text = _MARKUP_CHARACTER.sub(r"\\\1", line) if markdown else line
    text = _MENTION.sub(f"@{_ZERO_WIDTH_SPACE}", text)
    return text if line.startswith("Next: ") else _ADDRESS.sub(f":{_ZERO_WIDTH_SPACE}", text)


def hide_secrets(text: str, url: str) -> str:
    """Return a text as one line, without the parts of an address that may be secret: user, path and query."""
    split_url = urlsplit(url)
    # For some services, the address has a secret in place of the host.
    host = split_url.hostname or ""
    public_words = {host} if "." in host or host in LOOPBACK else set()
    words = re.split(r"[/?&=@:]", f"{split_url.netloc}/{split_url.path}/{split_url.query}")
    for word in sorted({*words, *map(unquote, words)}, key=len, reverse=True):
        if len(word) >= _MIN_SECRET_CHARACTERS and word.lower() not in public_words:
            text = text.replace(word, "***")
    return make_single_line(text, _MAX_REASON_CHARACTERS)


def _build_receiver(url: str, asset: AppriseAsset, name: str) -> tuple[NotifyBase, Chat]:
    """Return the object that sends to an address, and its chat service; override options that the address may set.

    Raises
    ------
    NotSentError
        If the address does not belong to a supported service.
    """
    receiver = Apprise.instantiate(url, asset=asset)
    if not isinstance(receiver, NotifyBase):
        raise NotSentError(f"{name}: the address is not complete; see the guide “Notifications”")
    scheme = receiver.url(privacy=True).partition("://")[0]  # type: ignore[no-untyped-call]
    chat = CHATS.get(scheme)
    if chat is None:
        raise NotSentError(f"{name}: this service is not supported; see the guide “Notifications”")
    receiver.notify_format = NotifyFormat(chat.format)
    # The receiver must not choose which other hosts the service calls.
    receiver.redirects = False
    receiver.socket_connect_timeout, receiver.socket_read_timeout = _CONNECT_SECONDS, _READ_SECONDS
    # Apprise must not retry or hide failures: the log of deliveries records what was not sent, and when to retry.
    receiver.retry, receiver.optional = 0, False
    if hasattr(receiver, "e2ee"):
        # This is Matrix. Encryption would need stored keys: without them, each message would come from a new device.
        receiver.e2ee = False
    return receiver, chat


def _count_characters(text: str) -> int:
    """Return the length of a text after Apprise has escaped it for HTML."""
    return len(escape(text))


def _cut_line(line: str, max_characters: int) -> str:
    """Return a line cut to fit, with an ellipsis at its end."""
    if _count_characters(line) <= max_characters:
        return line
    while _count_characters(line) >= max_characters:  # Leave room for the ellipsis.
        line = line[:-1]
    return line.rstrip("\\") + "…"  # A backslash would escape the ellipsis.


def _find_reason(result: AppriseResult) -> str:
    """Return why a message was not sent: the last warning of Apprise."""
    logs = [entry.message for service in result for attempt in service for entry in attempt.logs]
    return logs[-1] if logs else "the receiver did not accept the message"
