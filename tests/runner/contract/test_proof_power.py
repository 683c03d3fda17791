"""How many pairs would prove a rise."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.number_text import replace_no_break_spaces
from runner.contract.proof_power import DIRECTION_ERROR, MAX_PAIRS, compute_power, describe_power
from service.rules.comparison.error_probability import FALSE_ALARM_PROBABILITY
from service.rules.comparison.large_differences import LARGE_ERROR_SHARE
from service.rules.comparison.sign_test import count_signs, decide_direction


def test_the_error_is_that_of_a_comparison() -> None:
    assert pytest.approx((1 - LARGE_ERROR_SHARE) * FALSE_ALARM_PROBABILITY / 2) == DIRECTION_ERROR


def test_one_event_more_is_proven_soon_where_the_count_repeats() -> None:
    power = compute_power([5000] * 6, 2.0)
    assert power is not None
    assert (power.percent, power.pairs) == (None, 16)
    text = replace_no_break_spaces(describe_power(power))
    assert text == "A rise of one in the count would be proven in about 16 interleaved pairs (1 min)."


def test_no_proof_takes_zero_seconds() -> None:
    power = compute_power([5000] * 6, 0.01)
    assert power is not None
    assert replace_no_break_spaces(describe_power(power)).endswith(" 16 interleaved pairs (1 s).")


@pytest.mark.parametrize("spread", [20, 60, 120])
def test_so_many_pairs_prove_it_in_most_simulations(spread: int) -> None:
    random_ = random.Random(1)
    power = compute_power([5000 + random_.gauss(0, spread) for _ in range(60)], 1.0)
    assert power is not None
    assert power.pairs is not None
    proven = 0
    for _ in range(100):
        pairs = [
            (random_.gauss(5000, spread), random_.gauss(5100, spread)) for _ in range(min(MAX_PAIRS, 2 * power.pairs))
        ]
        proven += decide_direction(count_signs(pairs), DIRECTION_ERROR) == 1
    assert proven >= 80


@given(st.lists(st.integers(0, 10**9), max_size=80), st.floats(0, 1000))
def test_any_samples_have_a_sentence_or_none(samples: list[int], seconds: float) -> None:
    power = compute_power(samples, seconds)
    assert power is None or describe_power(power).endswith(".")
