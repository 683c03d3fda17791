"""Changes relative to a level."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.rules.comparison.metric_decision import decide_noisy_metric
from service.rules.relative_change import (
    compute_percent_change,
    compute_symmetric_percent_change,
    convert_to_percent_of_base,
    is_mostly_suspected,
)


@given(st.floats(1, 1e9), st.floats(1, 1e9))
def test_percent_of_the_mean_becomes_percent_of_base(before: float, after: float) -> None:
    converted = convert_to_percent_of_base(compute_symmetric_percent_change(before, after))
    percent = compute_percent_change(after - before, before)
    assume(not 3990 < after / before < 4010)
    assert percent is not None
    assert converted == pytest.approx(percent, rel=1e-3, abs=1e-6) if after < 4000 * before else converted is None


def test_a_base_of_zero_has_no_percentage() -> None:
    assert convert_to_percent_of_base(compute_symmetric_percent_change(0, 5)) is None


def test_a_verdict_states_its_bounds_relative_to_base_as_the_change_beside_it() -> None:
    pairs = [(34_000 + number % 3, 48_300 + number % 5) for number in range(40)]
    sentence = decide_noisy_metric(pairs, 3, 1e-4).sentence.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "between +42.1 % and +42.1 %" in sentence


@pytest.mark.parametrize(
    ("net_change", "certain", "suspected", "expected"),
    [
        (10, [10], [], False),
        (10, [], [10], True),
        (90, [100], [-10], False),
        (-90, [10], [-100], True),
        (15, [10, -9], [14], True),
        (50, [10], [], False),  # the rest is noise or lies across an end, but no drift is suspected
    ],
)
def test_a_small_certain_drift_does_not_make_a_large_suspected_one_certain(
    net_change: int, certain: list[int], suspected: list[int], expected: bool
) -> None:
    assert is_mostly_suspected(net_change, certain, suspected) is expected
