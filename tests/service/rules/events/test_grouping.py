from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.grouping import LocatedDrift, group_drifts
from service.schemas.history import Cause
from tests.service.rules.events.made_drifts import config, located_drift


def grouped(*traces: LocatedDrift) -> list[set[str]]:
    return [{drift.drift_id for drift in drifts} for drifts in group_drifts(traces)]


def test_one_commit_in_a_hundred_series_is_one_event() -> None:
    assert grouped(*[located_drift(f"d{n}", n) for n in range(100)]) == [{f"d{n}" for n in range(100)}]


def test_two_commits_are_two_events() -> None:
    assert grouped(located_drift("a", 1, 5), located_drift("b", 2, 6)) == [{"a"}, {"b"}]


def test_stretches_that_share_a_commit_are_one_event() -> None:
    assert grouped(located_drift("a", 1, 3, 7), located_drift("b", 2, 5), located_drift("c", 3, 4, 5)) == [
        {"a", "b", "c"}
    ]


def test_a_long_stretch_does_not_tie_two_commits_together() -> None:
    assert grouped(located_drift("a", 1, 3), located_drift("b", 2, 9), located_drift("c", 3, 1, 20)) == [
        {"a"},
        {"b", "c"},
    ]


def test_the_same_setting_at_the_same_time_is_one_event_whatever_the_anchors() -> None:
    assert grouped(config("a", 1, 0, 10, first=3), config("b", 2, 5, 20, first=9)) == [{"a", "b"}]


def test_the_same_setting_at_another_time_or_another_setting_is_another_event() -> None:
    drifts = grouped(config("a", 1, 0, 10), config("b", 1, 30, 40), config("c", 1, 0, 10, detail="other"))
    assert sorted(map(sorted, drifts)) == [["a"], ["b"], ["c"]]


traces = st.lists(
    st.builds(
        lambda series, first, length, cause, since: located_drift(
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
    unique_by=lambda drift: drift.drift_id,
)


@given(traces, st.integers())
def test_each_drift_is_in_one_event_in_which_all_share_a_point_in_whatever_order_they_come(
    drifts: list[LocatedDrift], seed: int
) -> None:
    groups = group_drifts(drifts)
    assert sorted(drift.drift_id for members in groups for drift in members) == sorted(
        drift.drift_id for drift in drifts
    )
    for members in groups:
        assert len({drift.key for drift in members}) == 1
        assert max(drift.stretch[0] for drift in members) <= min(drift.stretch[1] for drift in members)
    shuffled = list(drifts)
    random.Random(seed).shuffle(shuffled)
    assert group_drifts(shuffled) == groups
