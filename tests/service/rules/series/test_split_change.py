from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.rules.series.split_change import ChangeParts, CrossLevels, split_change

levels = st.none() | st.integers(-(2**70), 2**70)


def test_the_old_revision_in_the_new_environment_settles_it() -> None:
    assert split_change(CrossLevels(100, 160, None, 180)) == ChangeParts(commit=20, config=60, interaction=None)


def test_the_new_revision_in_the_old_environment_settles_it_too() -> None:
    assert split_change(CrossLevels(100, None, 100, 180)) == ChangeParts(commit=0, config=80, interaction=None)


def test_where_both_are_measured_their_interaction_is_returned() -> None:
    assert split_change(CrossLevels(100, 160, 110, 190)) == ChangeParts(commit=20, config=70, interaction=20)


def test_without_a_cross_measurement_nothing_is_guessed() -> None:
    assert split_change(CrossLevels(100, None, None, 180)) is None
    assert split_change(CrossLevels(None, 160, 110, 180)) is None


@given(levels, levels, levels, levels)
def test_the_parts_are_the_whole(a: int | None, b: int | None, c: int | None, d: int | None) -> None:
    parts = split_change(CrossLevels(a, b, c, d))
    if parts is None:
        assert a is None or d is None or (b is None and c is None)
        return
    assert a is not None
    assert d is not None
    if isinstance(parts.commit, int):
        assert parts.commit + parts.config == d - a
