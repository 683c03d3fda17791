import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.level import compute_median, compute_median_bounds, find_majority

NUMBERS = st.one_of(st.integers(-(2**64), 2**64), st.floats(-1e300, 1e300))


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=9), st.integers(-(2**70), 2**70))
def test_what_more_than_half_agree_on_is_the_level_whatever_the_others_are(others: list[int], value: int) -> None:
    values = others + [value] * (len(others) + 1)
    random.Random(0).shuffle(values)
    assert compute_median(values) == value
    agreed = find_majority(values)
    assert agreed is not None
    assert agreed == (value, values.count(value))


@pytest.mark.parametrize("values", [[], [1, 2], [1, 1, 2, 2], [1, 2, 3]])
def test_half_is_no_majority(values: list[int]) -> None:
    assert find_majority(values) is None


@given(st.lists(NUMBERS, max_size=60), st.sampled_from([0.05, 0.001]))
def test_bounds_hold_the_median_of_the_samples_and_mirror(values: list[float], error: float) -> None:
    found = compute_median_bounds(values, error)
    if found is None:
        assert len(values) < 20
        return
    middle = compute_median(values)
    assert middle is not None
    assert found[0] <= middle <= found[1]
    assert compute_median_bounds([-value for value in values], error) == (-found[1], -found[0])


def test_bounds_need_enough_samples_for_their_error() -> None:
    assert compute_median_bounds(range(7), 0.05) is None
    assert compute_median_bounds(range(8), 0.05) == (0, 7)


@pytest.mark.parametrize("n", [12, 30, 101])
def test_bounds_are_those_of_the_bet(n: int) -> None:
    error = 0.01
    low, high = compute_median_bounds(range(n), error) or (0, 0)
    gain = [Fraction(sum(comb(n + 1, j) for j in range(k + 1)), (n + 1) * comb(n, k)) for k in range(n + 1)]
    assert gain[high + 1] >= 2 / Fraction(error)
    assert gain[high] < 2 / Fraction(error)
    assert low == n - 1 - high


def test_the_median_is_missed_at_any_time_as_rarely_as_is_said() -> None:
    noise = random.Random(1)
    missed = 0
    for _ in range(400):
        values: list[float] = []
        for _ in range(60):
            # Skewed and with far outliers: nothing is assumed of the noise. Its median is 0.
            values.append(noise.choice([-1, 1]) * noise.paretovariate(0.7))
            found = compute_median_bounds(values, 0.1)
            if found is not None and not found[0] <= 0 <= found[1]:
                missed += 1
                break
    assert missed <= 0.1 * 400
    assert missed > 0, "bounds that never miss are wider than they need to be"
