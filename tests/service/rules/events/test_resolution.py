from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.automatic_decisions import LogEntry, new_entries
from service.rules.events.grouping import LocatedDrift
from service.rules.events.lifecycle import state_after
from service.rules.events.resolution import Transition, transitions
from service.schemas.events import Action, State
from service.schemas.history import Cause
from tests.service.rules.events.made_drifts import trace


def told(members: list[LocatedDrift], *others: LocatedDrift) -> list[tuple[str, str]]:
    series: dict[int | str, list[LocatedDrift]] = defaultdict(list)
    for one in (*members, *others):
        series[one.series].append(one)
    return [(turn.action.value, turn.by.drift_id) for turn in transitions(members, series)]


def back(drift: str, series: int, at: int, level: float = 100) -> LocatedDrift:
    return trace(drift, series, at, before=150, after=level)


def test_it_is_over_once_every_series_is_back() -> None:
    both = [trace("a", 1), trace("b", 2)]
    assert told(both, back("c", 1, 7)) == []
    assert told(both, back("c", 1, 7), back("d", 2, 9)) == [("fix", "d")]


def test_it_comes_back_with_the_first_series_that_leaves_again() -> None:
    assert told([trace("a")], back("b", 1, 7), trace("c", 1, 9)) == [("fix", "b"), ("reopen", "c")]


def test_half_of_the_way_back_is_not_over() -> None:
    assert told([trace("a")], back("b", 1, 7, level=125)) == []


def test_better_than_before_is_over_too() -> None:
    assert told([trace("a")], back("b", 1, 7, level=50)) == [("fix", "b")]


def test_a_return_to_within_the_noise_is_one() -> None:
    assert told([trace("a", spread=12)], back("b", 1, 7, level=110)) == [("fix", "b")]
    assert told([trace("a", spread=0)], back("b", 1, 7, level=110)) == []


def test_undoing_a_large_step_leaves_the_small_ones_that_came_after_it() -> None:
    large = trace("a", first=5, before=100, after=50_000)
    page = trace("b", first=7, before=50_000, after=50_001)
    knob = trace("c", first=9, before=50_001, after=50_500)
    undone = trace("d", first=11, before=50_500, after=600)
    assert told([large], page, knob, undone) == [("fix", "d")]
    assert told([page], large, knob, undone) == []
    assert told([knob], large, page, undone) == []


def test_several_steps_are_over_where_one_leads_back_to_before_them() -> None:
    one, two = trace("a", first=5, before=100, after=150), trace("b", first=7, before=150, after=170)
    back_to_the_start = trace("c", first=9, before=170, after=100)
    assert told([one], two, back_to_the_start) == told([two], one, back_to_the_start) == [("fix", "c")]
    back_to_the_second = trace("c", first=9, before=170, after=150)
    assert told([two], one, back_to_the_second) == [("fix", "c")]
    assert told([one], two, back_to_the_second) == []


def test_it_comes_back_on_another_level_where_others_stand() -> None:
    step, other = trace("a", first=5), trace("b", first=6, before=150, after=1150)
    undone, again = trace("c", first=7, before=1150, after=1100), trace("d", first=9, before=1100, after=1150)
    assert told([step], other, undone, again) == [("fix", "c"), ("reopen", "d")]


def test_what_is_for_the_better_is_never_over() -> None:
    better = trace("a", before=150, after=100)
    assert told([better], trace("b", 1, 7)) == []


UNITS: dict[int | str, str] = {1: "faults"}


def turn(action: Action, commit: str) -> Transition:
    return Transition(action, trace("x", revision=commit))


def test_the_service_says_once_that_it_is_fixed() -> None:
    over = [turn(Action.FIX, "c7")]
    (fixed,) = new_entries([], over, UNITS)
    assert (fixed.action, fixed.commit, fixed.by_service) == (Action.FIX, "c7", True)
    assert new_entries([fixed], over, UNITS) == []


def test_the_service_says_by_which_step_between_which_levels() -> None:
    undone = Transition(Action.FIX, trace("b", 1, 7, before=21624, after=5240))
    again = Transition(Action.REOPEN, trace("c", 2, 9, before=4.25, after=1234.5, cause=Cause.CONFIG))
    told = [entry.reason for entry in new_entries([], [undone, again], {1: "faults", 2: "%"})]
    assert told == [
        "Undone: 21,624 → 5,240 faults.",
        "It came back: 4.25 → 1,234.5 %, by a change of the configuration.",
    ]


def test_what_people_decided_stands() -> None:
    over = [turn(Action.FIX, "c7"), turn(Action.REOPEN, "c9")]
    for action in (Action.EXPECT, Action.DISMISS):
        assert new_entries([LogEntry(action, by_service=False)], over, UNITS) == []
    taken_back = [LogEntry(Action.FIX, True, commit="c7"), LogEntry(Action.REOPEN, by_service=False)]
    assert new_entries(taken_back, over[:1], UNITS) == []


def test_a_fix_that_is_found_at_another_commit_later_is_told_anew_and_one_that_is_gone_is_taken_back() -> None:
    log = [LogEntry(Action.FIX, True, commit="c7")]
    assert [entry.commit for entry in new_entries(log, [turn(Action.FIX, "c6")], UNITS)] == ["c6"]
    assert [entry.action for entry in new_entries(log, [], UNITS)] == [Action.REOPEN]
    assert new_entries([LogEntry(Action.FIX, by_service=False, commit="c7")], [], UNITS) == []


logs = st.lists(
    st.builds(
        LogEntry,
        st.sampled_from(Action),
        st.booleans(),
        st.just(""),
        st.sampled_from(["c5", "c6", "c7", None]),
    ),
    max_size=6,
)
alternating = st.integers(0, 5).map(
    lambda n: [turn(Action.REOPEN if place % 2 else Action.FIX, f"c{5 + place}") for place in range(n)]
)


@given(logs, alternating)
def test_following_up_twice_adds_nothing_the_second_time(log: list[LogEntry], found: list[Transition]) -> None:
    added = new_entries(log, found, UNITS)
    assert all(entry.by_service for entry in added)
    assert new_entries([*log, *added], found, UNITS) == []
    if state_after(entry.action for entry in log) in {State.EXPECTED, State.FALSE_ALARM}:
        assert added == []
