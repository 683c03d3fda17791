from __future__ import annotations

from fractions import Fraction
from statistics import median as exact_median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Reading, Status
from runner.contract.level import compute_median
from service.rules.series.run_level import compute_run_level

COUNTED = [Reading(value=value) for value in (2**63, 2**63 + 2, 2**63 + 1)]


@given(st.lists(st.integers(-(2**64), 2**64), min_size=1))
def test_the_median_of_counts_is_exact_wherever_it_is_a_whole_number(values: list[int]) -> None:
    level, exact = compute_median(values), exact_median([Fraction(value) for value in values])
    if exact.denominator == 1:
        assert isinstance(level, int)
        assert level == exact
    else:
        assert level == float(exact)


def test_samples_that_agree_keep_their_count() -> None:
    summary = compute_run_level([Reading(value=2**63 + 1)] * 3)
    assert (summary.value, summary.low, summary.high) == (2**63 + 1,) * 3


def test_samples_that_differ_have_a_range() -> None:
    summary = compute_run_level(COUNTED)
    assert (summary.value, summary.low, summary.high) == (2**63 + 1, 2**63, 2**63 + 2)


def test_a_metric_that_was_not_counted_has_no_level_and_is_not_zero() -> None:
    summary = compute_run_level([Reading(status=Status.NOT_COUNTED), Reading(status=Status.NOT_COUNTED)])
    assert (summary.status, summary.value, summary.low, summary.samples) == (Status.NOT_COUNTED, None, None, ())


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((Status.COUNTED, Status.MULTIPLEXED), Status.MULTIPLEXED),
        ((Status.NOT_COUNTED, Status.COUNTED), Status.COUNTED),
        ((Status.NOT_SUPPORTED, Status.NOT_COUNTED), Status.NOT_SUPPORTED),
    ],
)
def test_the_status_of_mixed_samples(statuses: tuple[Status, ...], expected: Status) -> None:
    has_value = {Status.COUNTED, Status.MULTIPLEXED}
    readings = [Reading(status=status, value=1 if status in has_value else None) for status in statuses]
    assert compute_run_level(readings).status is expected
