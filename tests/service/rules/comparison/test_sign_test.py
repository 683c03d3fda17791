from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.rules.comparison.sign_test import (
    MIN_CHANGED_SHARE,
    MISS_PROBABILITY,
    Signs,
    are_balanced,
    count_signs,
    decide_direction,
)

COUNTS = st.builds(Signs, *[st.integers(0, 200)] * 3)


def test_each_pair_has_one_sign() -> None:
    assert count_signs([(1, 2), (2, 2), (3, 2), (0, 2)]) == Signs(2, 1, 1)


def test_twenty_equal_pairs_exclude_a_change_in_two_executions_of_five() -> None:
    assert (1 - MIN_CHANGED_SHARE) ** 20 < MISS_PROBABILITY
    assert next(n for n in range(30) if are_balanced(Signs(0, n, 0))) == 20


def test_no_pair_says_nothing() -> None:
    assert decide_direction(Signs(0, 0, 0), 0.5) == 0
    assert not are_balanced(Signs(0, 0, 0))


@given(COUNTS)
def test_the_sides_are_treated_alike(signs: Signs) -> None:
    assert decide_direction(signs, 1e-3) == -decide_direction(signs.mirrored, 1e-3)
    assert are_balanced(signs) == are_balanced(signs.mirrored)


@given(st.integers(0, 200), st.integers(1, 200))
def test_what_shows_in_many_executions_is_never_balanced(equal: int, above: int) -> None:
    if above >= MIN_CHANGED_SHARE * (above + equal):
        assert not are_balanced(Signs(above, equal, 0))


@given(COUNTS, st.integers(1, 50))
def test_more_of_the_same_never_takes_a_lean_back(signs: Signs, more: int) -> None:
    if decide_direction(signs, 1e-3) > 0:
        assert decide_direction(signs._replace(above=signs.above + more), 1e-3) > 0
