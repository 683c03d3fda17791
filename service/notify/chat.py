"""Sends messages to chat services through Apprise, which knows how to speak to each of them.

Apprise would pass the text of strangers to some services as markup, or as a mention of everybody. Services that read
Markdown therefore get every line escaped; Apprise then writes the dialect of the service.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from apprise import Apprise, AppriseAsset, NotifyBase, NotifyFormat
from apprise.result import AppriseResult

from service.config.notifications import CHATS, ChatChannel
from service.notify.mail import NotSentError
from service.notify.message import Message

_CONNECT_SECONDS, _READ_SECONDS = 5, 20
_SHORTEST_SECRET = 4
_MARKUP = re.compile(r"([\\`*_\[\]<>#!|~&])")
_MENTION = re.compile(r"(?<!\w)@|@(?=everyone|here|all|channel|room)")
_ADDRESS = re.compile(r":(?=//)")
_BREAK = "\u200b"
"""A space of no width, which ends a mention or an address and is not seen."""

# Its records of lesser levels contain addresses, which are secrets; the reasons of failures are in its results.
logging.getLogger("apprise").propagate = False


def send(message: Message, channel: ChatChannel, environment: Mapping[str, str]) -> None:
    """Send a message, in parts if the service limits their length.

    Redirects are not followed: the receiver must not choose which other hosts the service calls.

    Raises
    ------
    NotSentError
        Where the receiver refuses it or does not answer. The error leaves out the address, which is a secret.
    """
    url = _address(channel, environment)
    asset = AppriseAsset(
        app_id="Faultwatch",
        app_desc="Faultwatch",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        http_redirects=False,
        async_mode=False,
        storage_mode="memory",
    )
    receiver = Apprise.instantiate(url, asset=asset)
    name = channel.variable_or_key
    if not isinstance(receiver, NotifyBase):
        raise NotSentError(f"{name}: the address is not complete; see docs/how-to/notifications.md")
    chat = CHATS.get(receiver.url(privacy=True).partition("://")[0])
    if chat is None:
        raise NotSentError(f"{name}: this service is not supported")
    receiver.redirects = False
    receiver.socket_connect_timeout, receiver.socket_read_timeout = _CONNECT_SECONDS, _READ_SECONDS
    if chat.markdown:
        receiver.notify_format = NotifyFormat.MARKDOWN
    apprise = Apprise(asset=asset)
    apprise.add(receiver)
    text_format = NotifyFormat.MARKDOWN if chat.markdown else NotifyFormat.TEXT
    for part in parts(message, receiver.body_maxlen, markdown=chat.markdown):
        result = apprise.notify(body=part, body_format=text_format)
        if not result:
            raise NotSentError(f"{chat.name}: {without_secrets(_reason(result), url)}")


def parts(message: Message, longest: int, *, markdown: bool) -> Iterator[str]:
    """Return the text of a message in parts of whole lines."""
    end = "  \n" if markdown else "\n"
    part = ""
    for line in (message.subject, *message.lines):
        written = line if line in message.links else inert(line, markdown=markdown)
        if markdown and line in message.links:
            written = f"<{line}>"
        if part and len(part) + len(end) + len(written) > longest:
            yield part.strip()
            part = ""
        part += (end if part else "") + written[:longest]
    yield part.strip()


def inert(line: str, *, markdown: bool) -> str:
    """Return a line that is shown as it is: no markup, no mention and, except for commands, no address to click."""
    text = _MARKUP.sub(r"\\\1", line) if markdown else line
    text = _MENTION.sub(f"@{_BREAK}", text)
    return text if line.startswith("Next: ") else _ADDRESS.sub(f":{_BREAK}", text)


def without_secrets(text: str, url: str) -> str:
    """Return text in one line, without the parts of an address that may be secret: user, path and query."""
    address = urlsplit(url)
    words = re.split(r"[/?&=@:]", f"{address.netloc}/{address.path}/{address.query}")
    host = (address.hostname or "").lower()
    for word in sorted({*words, *map(unquote, words)}, key=len, reverse=True):
        if len(word) >= _SHORTEST_SECRET and (word.lower() != host or not address.path.strip("/")):
            text = text.replace(word, "***")
    return " ".join(text.split())


def _reason(result: AppriseResult) -> str:
    """Return what Apprise last warned of."""
    logs = [entry.message for service in result for attempt in service for entry in attempt.logs]
    return logs[-1] if logs else "the receiver did not accept the message"


def _address(channel: ChatChannel, environment: Mapping[str, str]) -> str:
    url = channel.url if channel.url_variable is None else environment.get(channel.url_variable)
    if not url:
        raise NotSentError(f"the address is missing: set the environment variable {channel.url_variable}")
    try:
        return channel.check(url)
    except ValueError as error:
        raise NotSentError(f"{channel.variable_or_key}: {error}") from error
