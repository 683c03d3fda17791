"""Words messages. What strangers wrote, as the title of a commit, cannot become markup or a line of its own. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from service.schemas.events import EventSummary, State
from service.schemas.history import Cause, Direction

MOST = 25
"""Events that one message tells; it says how many more there are."""
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that end a line, turn the direction of writing, or cannot be in XML."""
_CAUSES = {
    Cause.COMMIT: "commit",
    Cause.CONFIG: "configuration",
    Cause.BOTH: "commit and configuration changed at once; a cross-measurement is ordered",
    Cause.UNKNOWN: "unknown: neither commit nor configuration changed",
}


@dataclass(frozen=True, slots=True)
class Letter:
    """A message.

    Attributes
    ----------
    key
        Tells messages apart: one that is sent again has the same one.
    """

    key: str
    subject: str
    lines: tuple[str, ...]


def write(key: str, events: Sequence[EventSummary], base: str) -> Letter:
    """Word a message about some events."""
    if len(events) == 1:
        return Letter(key, subject(events[0]), (*_told(events[0], base), "", link(base)))
    worse = sum(event.direction is Direction.REGRESSION for event in events)
    head = f"[faultwatch] {len(events)} events: {worse} for the worse, {len(events) - worse} for the better"
    lines = [line for event in events[:MOST] for line in (subject(event), *_told(event, base)[1:], "")]
    if len(events) > MOST:
        lines += [f"… and {len(events) - MOST} more.", ""]
    return Letter(key, head, (*lines, link(base)))


def subject(event: EventSummary) -> str:
    """Say in one line what happened."""
    again = "again: " if event.state is State.REOPENED else ""
    return f"[{plain(event.subject, 60)}] {again}{plain(event.headline)}"


def link(base: str, event: EventSummary | None = None) -> str:
    """Return the address of an event, or that of the service."""
    root = base.rstrip("/")
    return f"{root}/" if event is None else f"{root}/events/{event.id}"


def plain(text: str, longest: int = 200) -> str:
    """Return text as one line without control characters, not even those that turn the direction of writing."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def for_slack(letter: Letter) -> dict[str, str]:
    """Return a message as an incoming webhook takes it: nothing in it is a link, a mention or markup."""
    text = "\n".join((letter.subject, *letter.lines))
    for sign, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, escaped)
    return {"text": text}


def _told(event: EventSummary, base: str) -> tuple[str, ...]:
    cause = _CAUSES[event.cause]
    if event.cause is Cause.COMMIT:
        cause += f" {event.revision[:12]} “{plain(event.title)}” by {plain(event.author, 80)}"
    return (
        plain(event.headline),
        f"Cause: {cause}",
        f"Where: {event.n_series} series of {plain(event.subject, 60)}",
        link(base, event),
    )
