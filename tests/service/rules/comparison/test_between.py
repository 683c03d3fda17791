"""Releases and comparisons have one answer to what changed between two commits."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from service.releases.rules.decomposition import is_between
from service.rules.comparison.compare_stored_runs import is_drift_between, summarise_drift
from service.rules.comparison.run_pairing import ComparableRun, Pair
from service.schemas.history import Candidate, Cause, Drift
from tests.service import made_series

DRIFT = made_series.faults().drifts[0]

COMMITS = 12
NOW = datetime(2025, 1, 1, tzinfo=UTC)


def run(position: int, environment: str) -> ComparableRun:
    return ComparableRun(
        run_id=UUID(int=position + 1),
        number=position,
        subject="demo",
        case="touch",
        case_key="key",
        host="box",
        environment=environment,
        revision=f"c{position}",
        title="",
        position=position,
        started_at=NOW,
    )


def drift_at(position: int, before: str, after: str) -> Drift:
    """A drift of one commit, or of the environment at a commit that was measured in both."""
    is_commit = before == after
    return DRIFT.model_copy(
        update={
            "cause": Cause.COMMIT if is_commit else Cause.CONFIG,
            "revision": f"c{position}",
            "candidates": [Candidate(commit=f"c{position}", title="", author="")] if is_commit else [],
            "environment_before": before,
            "environment_after": after,
        }
    )


@example(switches=[4, 8], changed={6}, ends=(1, 10))  # in an environment that is that of neither end
@given(
    switches=st.lists(st.integers(1, COMMITS - 2), max_size=2, unique=True),
    changed=st.sets(st.integers(1, COMMITS - 1)),
    ends=st.tuples(st.integers(0, COMMITS - 1), st.integers(0, COMMITS - 1)),
)
def test_a_drift_lies_between_two_commits_for_both_or_for_neither(
    switches: list[int], changed: set[int], ends: tuple[int, int]
) -> None:
    low, high = sorted(ends)
    edges = [0, *sorted(switches), COMMITS]
    environment_at = [
        name for name, (begin, end) in zip("ABC", pairwise(edges), strict=False) for _ in range(begin, end)
    ]
    drifts = {
        position: drift_at(position, environment_at[position], environment_at[position])
        for position in changed - set(switches)
    }
    drifts |= {at: drift_at(at, environment_at[at - 1], environment_at[at]) for at in switches}
    pair = Pair((run(low, environment_at[low]),), (run(high, environment_at[high]),))
    inside = {f"c{position}" for position in range(low + 1, high + 1)}
    for position, drift in drifts.items():
        # A configuration change at the base itself comes after runs in both environments: it belongs to neither.
        if drift.cause is Cause.CONFIG and position == low:
            continue
        summary = summarise_drift(position, drift.model_dump(mode="json"))
        assert is_drift_between(summary, pair) == is_between(drift, inside, f"c{low}"), (position, low, high)


def test_a_configuration_that_changes_at_a_release_comes_after_it() -> None:
    inside = {"c4", "c5"}
    assert is_between(drift_at(3, "A", "B"), inside, "c3")
    assert not is_between(drift_at(3, "A", "A"), inside, "c3")
    assert not is_between(drift_at(2, "A", "B"), inside, "c3")
