"""Decides when to retry a call that a forge refused or did not answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from service.forges.forge import Refusal

MAX_ATTEMPTS = 20
"""The largest number of attempts at one call, which take almost two days with the waits between them."""
_MAX_WAIT = timedelta(hours=3)
_FIRST_WAIT = timedelta(seconds=5)
_RATE_LIMIT_WAIT = timedelta(minutes=1)
"""The wait that GitHub recommends after a rate limit that names no time."""
_MAX_TIME_DIGITS = 11
"""Digits of a number of seconds. As a time since 1970, the largest is in the year 5138, which a datetime can hold."""
_PERMANENT_STATUSES = frozenset({404, 410, 422})
"""Statuses that another attempt will not change: the target is gone, or the forge rejects the request as such."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What to do after a failed call."""

    retry_at: datetime | None
    """When to retry; None for never."""
    pause_all: bool = False
    """Whether all calls to the forge must wait until then, because of a rate limit."""


def schedule_retry(refusal: Refusal | None, error: Exception, attempts: int, now: datetime) -> tuple[Retry, str]:
    """Return when to retry work that raised an exception, and a message about the failure.

    Parameters
    ----------
    refusal
        Why the call to the forge failed; None if something else failed.
    error
        The exception.
    attempts
        Attempts so far, this one included.
    now
        The time.
    """
    if refusal is None:
        refusal = Refusal(None, f"{type(error).__name__}: {error}")
    return decide_retry(refusal.status, refusal.headers, refusal.message, attempts, now), refusal.message


def decide_retry(status: int | None, headers: Mapping[str, str], message: str, attempts: int, now: datetime) -> Retry:
    """Decide when to retry.

    Parameters
    ----------
    status
        HTTP status; None without an answer.
    headers
        Headers of the answer, their names in lower case.
    message
        The forge's error message.
    attempts
        The number of attempts so far, including this one.
    now
        The present time.
    """
    # The number of doublings is limited so that the wait does not overflow; it reaches its maximum long before.
    n_doublings = min(attempts - 1, MAX_ATTEMPTS)
    wait = min(_MAX_WAIT, _FIRST_WAIT * 2**n_doublings)
    # A rate limit says nothing about this call, so it is waited out however many attempts there were.
    if status == 429 or (status == 403 and is_rate_limited(headers, message)):
        rate_limit_wait = _read_requested_wait(headers, now) or _RATE_LIMIT_WAIT
        return Retry(now + max(rate_limit_wait, timedelta(seconds=1)), pause_all=True)
    if status in _PERMANENT_STATUSES or attempts >= MAX_ATTEMPTS:
        return Retry(None)
    requested_wait = _read_requested_wait(headers, now) if status is not None and status >= 500 else None
    return Retry(now + max(wait, requested_wait or wait))


def is_rate_limited(headers: Mapping[str, str], message: str) -> bool:
    """Return whether a forge has refused a call with 403 because there were too many calls."""
    is_exhausted = headers.get("x-ratelimit-remaining") == "0"
    return is_exhausted or "retry-after" in headers or "rate limit" in message.lower()


def _read_requested_wait(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return how long the forge asks to wait, at most :data:`_MAX_WAIT`; None if it does not ask."""
    retry_after, reset_at = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    # A header can hold a number that Python does not convert, or that is too large for a timedelta or a datetime.
    if retry_after.isdecimal():
        is_too_long = len(retry_after) > _MAX_TIME_DIGITS
        return _MAX_WAIT if is_too_long else min(timedelta(seconds=int(retry_after)), _MAX_WAIT)
    if headers.get("x-ratelimit-remaining") == "0" and reset_at.isdecimal() and len(reset_at) <= _MAX_TIME_DIGITS:
        wait = datetime.fromtimestamp(int(reset_at), UTC) - now
        return min(max(wait, timedelta(0)), _MAX_WAIT)
    return None
