"""Counts that repeat to the fault: one fault more is a drift, on one run."""

import pytest

from service.rules.detect import find_level_changes


def steps(values, repeats=3):
    return [(d.index, d.before, d.after) for d in find_level_changes(values, samples=[[v] * repeats for v in values])]


def test_every_true_step_is_found_at_its_index_and_nothing_else():
    series = [100] * 3 + [101] * 5 + [2148] * 4 + [2147]
    assert steps(series, repeats=2) == [(3, 100, 101), (8, 101, 2148), (12, 2148, 2147)]


def test_one_fault_more_in_the_newest_commit_of_a_zero_baseline():
    assert steps([0, 0, 0, 1]) == [(3, 0, 1)]


def test_two_points_are_enough():
    assert steps([0, 1]) == [(1, 0, 1)]


def test_integers_beyond_two_to_the_53_stay_exact():
    big = 2**53
    assert steps([big, big, big + 1]) == [(2, big, big + 1)]
    huge = 10**400
    assert steps([huge, huge, huge + 1]) == [(2, huge, huge + 1)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_numbers_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=r"values\[1\]"):
        find_level_changes([1.0, bad])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "7", None])
def test_samples_that_are_no_finite_numbers_are_refused_by_place(bad):
    with pytest.raises(ValueError, match=r"samples\[1\]"):
        find_level_changes([1, 2], samples=[[1, 1], [2, bad]])


def test_stray_samples_do_not_hide_a_step():
    """Most points have one sample, since it repeated the one before; a disturbed one has three, of which two agree."""
    values = [4185] * 7 + [53337] * 2 + [53338] * 3 + [53894] * 4 + [4742] * 4
    samples = [[value] for value in values]
    for index in (0, 7, 9, 12, 16):
        samples[index] *= 2
    for index, stray in ((3, 1), (10, -1), (18, 16)):
        samples[index] = [values[index], values[index] + stray, values[index]]
    assert [drift.index for drift in find_level_changes(values, samples=samples)] == [7, 9, 12, 16]
