"""Two successive commits that each take a part of a step: neither is blamed alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.detect import find_level_changes
from service.rules.detect.position_and_levels import MIN_RUNS_AT_LEVEL, count_runs_between

OLD = [8023, 7992, 8022, 7987, 7994, 7998, 8006, 8000, 8008, 7994]
NEW = [8368, 8384, 8347, 8351, 8362, 8359, 8368, 8369, 8366]


@pytest.mark.parametrize(("before", "after"), [(1, 1), (4, 1), (4, 4), (4, 8)])
def test_a_run_between_both_levels_leaves_two_candidates(before: int, after: int) -> None:
    (change,) = find_level_changes([*OLD * before, 8262, *NEW * after])
    first = len(OLD) * before
    assert (change.low, change.high, change.wants_rerun) == (first, first + 1, False)


def test_a_step_without_a_run_between_leaves_one() -> None:
    (change,) = find_level_changes([*OLD * 4, *NEW * 4])
    assert (change.low, change.high) == (40, 40)


@given(st.lists(st.floats(-1e6, 1e6), max_size=12), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e3))
def test_some_runs_are_always_at_the_level(runs: list[float], level: float, other: float, sigma: float) -> None:
    assert 0 <= count_runs_between(runs, level, other, sigma) <= max(0, len(runs) - MIN_RUNS_AT_LEVEL)


@pytest.mark.parametrize(("samples", "low", "high"), [((4808, 4812), 11, 11), ((4808, 4808), 11, 12)])
def test_a_run_whose_samples_reach_the_new_level_is_at_it(samples: tuple[int, int], low: int, high: int) -> None:
    values = [1808] * 11 + [4808] + [4811] * 5
    points = [(value, value) for value in values]
    points[11] = samples
    (change,) = find_level_changes(values, samples=points)
    assert (change.low, change.high) == (low, high)
    assert (change.before, change.after, change.wants_rerun) == (1808, 4811, False)
