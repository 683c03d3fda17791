"""Decides when a visit of a reader began, and when the one before it ended.

A visit lasts as long as the reader comes back within :data:`MIN_PAUSE`. What was found since the last visit stays
listed for the whole of the present one, so loading the page again empties nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MIN_PAUSE = timedelta(minutes=30)
"""Time without a request after which the next request begins a new visit."""
STORED_PRECISION = timedelta(minutes=5)
"""How far the stored time of the last request may lag behind, so that not each request writes."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The present visit of a reader.

    Attributes
    ----------
    since
        When the visit before this one ended; None on the first visit.
    seen_at
        The last request of this visit, at most :data:`STORED_PRECISION` too early.
    """

    since: datetime | None
    seen_at: datetime


def find_visit_at(stored_visit: Visit | None, now: datetime) -> Visit:
    """Return the visit to which a request belongs; the stored one if nothing is to be written."""
    if stored_visit is None:
        return Visit(None, now)
    time_passed = now - stored_visit.seen_at
    if time_passed >= MIN_PAUSE:
        return Visit(stored_visit.seen_at, now)
    return Visit(stored_visit.since, now) if time_passed >= STORED_PRECISION else stored_visit
