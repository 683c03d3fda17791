"""Decides when a reader's visit began, and when the previous one ended.

A visit lasts as long as no pause between requests exceeds :data:`MIN_PAUSE`. Events found since the last visit stay
listed during the whole current visit, so reloading the page does not empty the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MIN_PAUSE = timedelta(minutes=30)
"""Time without a request after which the next request begins a new visit."""
STORED_PRECISION = timedelta(minutes=5)
"""How far the stored time of the last request may lag behind, so that not every request has to write it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The current visit of a reader.

    Attributes
    ----------
    since
        When the previous visit ended; None during the first visit.
    seen_at
        The time of the last request of this visit, at most :data:`STORED_PRECISION` too early.
    """

    since: datetime | None
    seen_at: datetime


def find_visit_at(stored_visit: Visit | None, now: datetime) -> Visit:
    """Return the visit to which a request belongs; it is ``stored_visit`` itself if nothing has to be written."""
    if stored_visit is None:
        return Visit(None, now)
    time_passed = now - stored_visit.seen_at
    if time_passed >= MIN_PAUSE:
        return Visit(since=stored_visit.seen_at, seen_at=now)  # a new visit lists what happened since the previous one
    return Visit(since=stored_visit.since, seen_at=now) if time_passed >= STORED_PRECISION else stored_visit
