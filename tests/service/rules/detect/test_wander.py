"""By how much a change has to explain the runs better than a host that wanders."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.rules.detect.noise import Noise
from service.rules.detect.wander import MAX_POINTS, _thin_runs, find_needed_margin

WHITE = Noise(sigma=10.0, rho=0.0, points=512, mode_sigma=10.0)
SIZES = st.floats(0.1, 1000)


@given(size=SIZES, larger=st.floats(1, 10), fewest=st.integers(1, 500), rho=st.floats(0, 0.9))
def test_larger_changes_need_no_larger_margin(size: float, larger: float, fewest: int, rho: float) -> None:
    noise = Noise(10.0, rho, 512, 10.0)
    assert find_needed_margin(size * larger, fewest, noise) <= find_needed_margin(size, fewest, noise)


@given(size=SIZES, fewest=st.integers(1, 500), more=st.integers(0, 500))
def test_longer_levels_need_no_larger_margin(size: float, fewest: int, more: int) -> None:
    assert find_needed_margin(size, fewest + more, WHITE) <= find_needed_margin(size, fewest, WHITE)


@given(size=SIZES, rho=st.floats(0, 0.9), points=st.integers(16, 512))
def test_runs_that_may_follow_each_other_need_a_larger_margin(size: float, rho: float, points: int) -> None:
    noise = Noise(10.0, rho, points, 10.0)
    assert find_needed_margin(size, 100, noise) >= find_needed_margin(size, 100, WHITE)


@given(size=SIZES, steps=st.lists(st.floats(-40, 40), max_size=8))
def test_small_steps_nearby_make_no_change_certain(size: float, steps: list[float]) -> None:
    assert find_needed_margin(size, 100, WHITE, steps) >= find_needed_margin(size, 100, WHITE)


def test_a_small_step_among_small_steps_needs_a_much_larger_margin() -> None:
    alone, among = (find_needed_margin(12.0, 100, WHITE, steps) for steps in ([], [15.0, -14.0, 16.0]))
    assert among > 2 * alone


def test_of_more_runs_than_are_judged_one_by_one_the_newest_count() -> None:
    newest_runs = 2 * MAX_POINTS  # in means of three runs, two runs are left over
    thinned_runs = _thin_runs(np.arange(newest_runs + 1.0))
    assert thinned_runs[-1] == newest_runs - 1
    assert len(thinned_runs) % 8 == 0
