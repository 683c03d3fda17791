"""Makes events as they are told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from service.schemas.history import Cause
from service.schemas.triage import EventDirection, EventSummary, State

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def event(name: str = "0123456789abcdef", **changes: Any) -> EventSummary:
    """Return an event that a commit made."""
    told: dict[str, Any] = {
        "id": name,
        "subject": "demo",
        "cause": Cause.COMMIT,
        "state": State.NEW,
        "open": True,
        "still_detected": True,
        "confirmed": True,
        "silenced": False,
        "direction": EventDirection.REGRESSION,
        "headline": "+50 minor faults (+50 %) in copy[mib=4]",
        "revision": "c" * 40,
        "previous_revision": "b" * 40,
        "title": "Grow the buffers",
        "author": "Ada",
        "n_candidates": 1,
        "blamed": "Grow the buffers",
        "committed_at": NOW,
        "first_seen_at": NOW,
        "found_at": NOW,
        "changed_at": NOW,
        "n_drifts": 1,
        "n_series": 1,
        "merged_into": None,
        "last_decision": None,
    }
    return EventSummary(**(told | changes))
