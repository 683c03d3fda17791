"""Makes places of drifts."""

from __future__ import annotations

from typing import Any

from service.rules.events.grouping import LocatedDrift
from service.schemas.history import Cause


def located_drift(drift: str, series: int = 1, first: int = 5, last: int | None = None, **changes: Any) -> LocatedDrift:
    """Return a drift 100 → 150 in a series, which one of the commits from first to last did."""
    last = first if last is None else last
    fields: dict[str, Any] = {
        "drift_id": drift,
        "series": series,
        "cause": Cause.COMMIT,
        "detail": "",
        "first": first,
        "last": last,
        "since": last - 1,
        "until": last,
        "before": 100,
        "after": 150,
        "spread": 0,
        "worse": changes.get("after", 150) > changes.get("before", 100),
        "revision": f"c{last}",
    }
    return LocatedDrift(**(fields | changes))


def config(drift: str, series: int = 1, since: float = 0, until: float = 1, **changes: Any) -> LocatedDrift:
    """Return a drift that a setting did."""
    return located_drift(
        drift, series, **({"cause": Cause.CONFIG, "detail": "setting", "since": since, "until": until} | changes)
    )
