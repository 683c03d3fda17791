"""Drifts of a made-up history for the map."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from service.rules.drift_map.columns import Columns, MapCommit, divide_history
from service.rules.drift_map.layout import SUSPECTED_WEIGHT, MapDrift, compute_move

START = datetime(2026, 1, 5, tzinfo=UTC)


def columns(count: int) -> Columns:
    return divide_history([MapCommit(n, f"{n:040x}", START + timedelta(days=n)) for n in range(count)], count)


def drift(case: str, column: int = 0, percent: float = 50.0, **changes: object) -> MapDrift:
    """Return a drift from 1,000 by so many percent; a rise is for the worse."""
    before, after = 1000.0, 1000.0 * (1 + percent / 100)
    move = compute_move(before, after)
    certain = bool(changes.get("certain", True))
    made = MapDrift(
        drift_id=f"{case} at {column}",
        row=("subject", case.partition("[")[0], case),
        case_key=f"key of {case}",
        column=column,
        metric="minor-faults",
        before=before,
        after=after,
        move=move,
        weight=move if certain else move * SUSPECTED_WEIGHT,
        worse=percent > 0,
        certain=certain,
        returned=False,
        event=f"event {column}",
        importance=1.0,
    )
    return made._replace(**changes)


DRIFTS = st.lists(
    st.builds(
        drift,
        st.integers(0, 40).map(lambda n: f"workload_{n % 5}[size={n}]"),
        st.integers(0, 59),
        st.one_of(st.floats(-100, -0.01), st.floats(0.01, 1e6)),
        certain=st.booleans(),
        event=st.integers(0, 80).map(str),
        importance=st.floats(0, 1000),
    ),
    max_size=200,
)
