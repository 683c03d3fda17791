from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.grouping import LocatedDrift, group_drifts
from service.schemas.history import Cause
from tests.service.rules.events.made_drifts import config, trace


def grouped(*traces: LocatedDrift) -> list[set[str]]:
    return [{one.drift_id for one in found} for found in group_drifts(traces)]


def test_one_commit_in_a_hundred_series_is_one_event() -> None:
    assert grouped(*[trace(f"d{n}", n) for n in range(100)]) == [{f"d{n}" for n in range(100)}]


def test_two_commits_are_two_events() -> None:
    assert grouped(trace("a", 1, 5), trace("b", 2, 6)) == [{"a"}, {"b"}]


def test_stretches_that_share_a_commit_are_one_event() -> None:
    assert grouped(trace("a", 1, 3, 7), trace("b", 2, 5), trace("c", 3, 4, 5)) == [{"a", "b", "c"}]


def test_a_long_stretch_does_not_tie_two_commits_together() -> None:
    assert grouped(trace("a", 1, 3), trace("b", 2, 9), trace("c", 3, 1, 20)) == [{"a"}, {"b", "c"}]


def test_the_same_knob_at_the_same_time_is_one_event_whatever_the_anchors() -> None:
    assert grouped(config("a", 1, 0, 10, first=3), config("b", 2, 5, 20, first=9)) == [{"a", "b"}]


def test_the_same_knob_at_another_time_or_another_knob_is_another_event() -> None:
    found = grouped(config("a", 1, 0, 10), config("b", 1, 30, 40), config("c", 1, 0, 10, detail="other"))
    assert sorted(map(sorted, found)) == [["a"], ["b"], ["c"]]


traces = st.lists(
    st.builds(
        lambda series, first, length, cause, since: trace(
            f"{series}/{first}/{length}/{cause}/{since}",
            series,
            first,
            first + length,
            cause=cause,
            since=since,
            until=since + length,
        ),
        st.integers(1, 5),
        st.integers(1, 30),
        st.integers(0, 5),
        st.sampled_from(Cause),
        st.integers(0, 30),
    ),
    max_size=30,
    unique_by=lambda one: one.drift_id,
)


@given(traces, st.integers())
def test_each_drift_is_in_one_event_in_which_all_share_a_point_in_whatever_order_they_come(
    found: list[LocatedDrift], seed: int
) -> None:
    groups = group_drifts(found)
    assert sorted(one.drift_id for members in groups for one in members) == sorted(one.drift_id for one in found)
    for members in groups:
        assert len({one.key for one in members}) == 1
        assert max(one.stretch[0] for one in members) <= min(one.stretch[1] for one in members)
    shuffled = list(found)
    random.Random(seed).shuffle(shuffled)
    assert group_drifts(shuffled) == groups
