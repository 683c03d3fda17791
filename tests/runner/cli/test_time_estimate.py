"""How long the rest of some work takes: an estimate that a reader can trust while it goes on."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from runner.cli.time_estimate import Pace


def said_during(durations: list[float], ahead: int) -> list[float]:
    """Return what is said to be left each second of some steps, from the end of the first one on."""
    pace, now, said = Pace(0.0), 0.0, []
    for number, seconds in enumerate(durations):
        for _ in range(int(seconds)):
            now += 1
            if number:
                said.append(pace.estimate_time_left(now, ahead + len(durations) - number))
        pace.advance(now)
    return said


def test_nothing_is_said_before_a_step_has_ended() -> None:
    pace = Pace(0.0)
    assert pace.estimate_time_left(100.0, 5) == 0
    pace.advance(120.0)
    assert pace.estimate_time_left(120.0, 5) == 600
    assert pace.estimate_time_left(120.0, 0) == 0


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 20))
def test_what_is_left_of_equal_steps_shrinks_with_each_second(seconds: int, steps: int, ahead: int) -> None:
    said = said_during([seconds] * steps, ahead)
    assert all(after == before - 1 for before, after in pairwise(said))


def test_what_is_left_does_not_grow_while_a_build_lasts_as_long_as_the_ones_before() -> None:
    said = said_during([20, 30, 10, 30, 20, 30, 10, 20], 10)
    growths = [after - before for before, after in pairwise(said) if after > before]
    assert len(growths) <= 2
    assert said[-1] < said[0]


def test_work_that_becomes_slower_is_judged_by_its_newer_half() -> None:
    pace, now = Pace(0.0), 0.0
    for seconds in (1, 1, 1, 1, 9, 9, 9, 9):
        now += seconds
        pace.advance(now)
    assert pace.estimate_time_left(now, 10) == 90


def test_steps_that_turn_out_needless_shorten_what_is_left_at_once() -> None:
    pace = Pace(0.0)
    pace.advance(60.0)
    assert pace.estimate_time_left(60.0, 9) == 540
    pace.advance(60.0, 5)
    assert pace.estimate_time_left(60.0, 4) == 40
