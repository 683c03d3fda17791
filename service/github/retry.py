"""When to try again what GitHub did not take. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MOST = 20
"""Attempts at one thing: with the waits between them, the better part of two days."""
_LONGEST = timedelta(hours=3)
_FIRST = timedelta(seconds=5)
_LIMITED = timedelta(minutes=1)
"""GitHub's own advice where a limit is hit and nothing says for how long."""
_NEVER = frozenset({404, 410, 422})
"""What another attempt will not change: it is gone, or it is not a thing that GitHub takes."""


@dataclass(frozen=True, slots=True)
class Again:
    """What to do after a failure."""

    at: datetime | None
    """When to try again; None for never."""
    everything: bool = False
    """Whether GitHub wants to be left alone altogether until then."""


def again(status: int | None, headers: Mapping[str, str], message: str, attempts: int, now: datetime) -> Again:
    """Decide when to try again.

    Parameters
    ----------
    status
        HTTP status; None where there was no answer at all.
    headers
        Of the answer, in small letters.
    message
        What GitHub said.
    attempts
        How often it was tried, this time included.
    now
        The time.
    """
    wait = min(_LONGEST, _FIRST * 2 ** min(attempts - 1, 20))
    if status == 429 or (status == 403 and _limited(headers, message)):
        return Again(now + max(_asked(headers, now) or _LIMITED, timedelta(seconds=1)), everything=True)
    if status in _NEVER or attempts >= MOST:
        return Again(None)
    asked = _asked(headers, now) if status is not None and status >= 500 else None
    return Again(now + max(wait, asked or wait))


def _limited(headers: Mapping[str, str], message: str) -> bool:
    spent = headers.get("x-ratelimit-remaining") == "0"
    return spent or "retry-after" in headers or "rate limit" in message.lower()


def _asked(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return for how long GitHub asks to be left alone, within reason."""
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if after.isdecimal():
        return min(_LONGEST, timedelta(seconds=min(int(after), 10**6)))
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal() and len(reset) < 12:
        return min(_LONGEST, max(timedelta(0), datetime.fromtimestamp(int(reset), UTC) - now))
    return None
