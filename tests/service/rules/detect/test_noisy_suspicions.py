"""A suspicion needs evidence, and ends when all the runs that judge the change have followed."""

import math

from service.rules.detect.noisy_suspicions import MAX_POINTS_IN_DOUBT, MIN_MARGIN_IN_DOUBT, is_suspicion


def test_a_likely_change_is_a_suspicion_until_128_runs_have_followed() -> None:
    assert is_suspicion(MIN_MARGIN_IN_DOUBT, 127, exceeds_wander=False)
    assert not is_suspicion(math.inf, MAX_POINTS_IN_DOUBT, exceeds_wander=True)
    assert MAX_POINTS_IN_DOUBT == 128


def test_a_change_that_explains_little_is_no_suspicion() -> None:
    assert not is_suspicion(MIN_MARGIN_IN_DOUBT - 0.1, 0, exceeds_wander=False)
    assert not is_suspicion(-math.inf, 0, exceeds_wander=False)


def test_a_change_larger_than_wander_is_a_suspicion_whatever_explains_it():
    assert is_suspicion(-math.inf, 0, exceeds_wander=True)
