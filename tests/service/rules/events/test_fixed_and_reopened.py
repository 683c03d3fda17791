from __future__ import annotations

from service.rules.events.fixed_and_reopened import Resolutions, list_transitions
from service.rules.events.grouping import LocatedDrift
from tests.service.rules.events.made_drifts import located_drift


def resolved(members: list[LocatedDrift], *others: LocatedDrift) -> list[tuple[str, str]]:
    resolutions = Resolutions((*members, *others))
    return [(turn.action.value, turn.drift.drift_id) for turn in list_transitions(members, resolutions)]


def back(drift: str, series: int, at: int, level: float = 100) -> LocatedDrift:
    return located_drift(drift, series, at, before=150, after=level)


def test_it_is_over_once_every_series_is_back() -> None:
    both = [located_drift("a", 1), located_drift("b", 2)]
    assert resolved(both, back("c", 1, 7)) == []
    assert resolved(both, back("c", 1, 7), back("d", 2, 9)) == [("fix", "d")]


def test_it_comes_back_with_the_first_series_that_leaves_again() -> None:
    assert resolved([located_drift("a")], back("b", 1, 7), located_drift("c", 1, 9)) == [("fix", "b"), ("reopen", "c")]


def test_half_of_the_way_back_is_not_over() -> None:
    assert resolved([located_drift("a")], back("b", 1, 7, level=125)) == []


def test_better_than_before_is_over_too() -> None:
    assert resolved([located_drift("a")], back("b", 1, 7, level=50)) == [("fix", "b")]


def test_a_return_to_within_the_noise_is_one() -> None:
    assert resolved([located_drift("a", spread=12)], back("b", 1, 7, level=110)) == [("fix", "b")]
    assert resolved([located_drift("a", spread=0)], back("b", 1, 7, level=110)) == []


def test_undoing_a_large_step_leaves_the_small_ones_that_came_after_it() -> None:
    large = located_drift("a", first=5, before=100, after=50_000)
    page = located_drift("b", first=7, before=50_000, after=50_001)
    setting = located_drift("c", first=9, before=50_001, after=50_500)
    undone = located_drift("d", first=11, before=50_500, after=600)
    assert resolved([large], page, setting, undone) == [("fix", "d")]
    assert resolved([page], large, setting, undone) == []
    assert resolved([setting], large, page, undone) == []


def test_several_steps_are_over_where_one_leads_back_to_before_them() -> None:
    drift, two = located_drift("a", first=5, before=100, after=150), located_drift("b", first=7, before=150, after=170)
    back_to_the_start = located_drift("c", first=9, before=170, after=100)
    assert resolved([drift], two, back_to_the_start) == resolved([two], drift, back_to_the_start) == [("fix", "c")]
    back_to_the_second = located_drift("c", first=9, before=170, after=150)
    assert resolved([two], drift, back_to_the_second) == [("fix", "c")]
    assert resolved([drift], two, back_to_the_second) == []


def test_it_comes_back_on_another_level_where_others_stand() -> None:
    step, other = located_drift("a", first=5), located_drift("b", first=6, before=150, after=1150)
    undone, again = (
        located_drift("c", first=7, before=1150, after=1100),
        located_drift("d", first=9, before=1100, after=1150),
    )
    assert resolved([step], other, undone, again) == [("fix", "c"), ("reopen", "d")]


def test_what_is_for_the_better_is_never_over() -> None:
    better = located_drift("a", before=150, after=100)
    assert resolved([better], located_drift("b", 1, 7)) == []
