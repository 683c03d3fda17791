"""A point appended gives the answer of a series read again: whatever the values, however they were cut into calls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rules.detect import LevelChange, LevelChangeDetector, find_level_changes
from service.rules.detect.detector import MergedChanges
from tests import thorough

pytestmark = pytest.mark.random


@st.composite
def histories(draw):
    """Levels of some length with noise, outliers, two modes or none of it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pieces = draw(st.lists(st.tuples(st.integers(1, 90), st.integers(-40, 40)), min_size=1, max_size=6))
    spread = draw(st.sampled_from([0, 0, 1, 2, 5]))
    values = np.concatenate(
        [np.full(length, 1000 + level) + rng.integers(-spread, spread + 1, length) for length, level in pieces]
    )
    if draw(st.booleans()):
        values = values + 64 * (rng.random(len(values)) < 0.3)
    if draw(st.booleans()):
        values = values + (rng.random(len(values)) < 0.03) * rng.integers(-500, 500, len(values))
    if draw(st.booleans()):
        values = values + np.arange(len(values)) // 7
    return [int(v) for v in values]


@settings(max_examples=thorough.choose(12, 100))
@given(histories(), st.integers(1, 40))
def test_appending_gives_the_answer_of_reading_again(values, stride):
    series = LevelChangeDetector()
    for n, value in enumerate(values, 1):
        drifts = series.append(value)
        if n % stride == 0 or n == len(values):
            assert drifts == series.find_changes() == find_level_changes(values[:n])


FALL_BEFORE_A_CLIMB = [  # the first stair of the climb is longer than the level before it
    999, 999, 999, 999, 999, 1001, 1001, 1002, 1000, 1000, 1000, 1002, 1001, 1001, 1003, 1003, 1003, 1003,
    1003, 1001, 1001, 1003, 1002, 1002, 1004, 1002, 1004, 1002, 1003, 1004, 1005, 1003, 1004, 1005, 1005,
    1006, 1004, 1005, 1006, 1004, 1006, 1004, 1006, 1006, 1006, 1229, 1007, 1005, 1006, 1246, 1009, 1006,
    1008, 1006, 1006, 1008, 1007, 1009, 1008, 1007, 1007, 1008, 1007, 1008, 1008, 983, 982, 984, 983, 982,
    983, 985, 984, 983, 985, 985, 983, 985, 986, 986, 986, 985, 986, 985, 986, 987, 987, 986, 986, 986, 987,
    987, 986, 987, 987, 986, 988, 941, 988, 988, 988, 989, 988, 987, 988, 985, 988, 989, 989, 989, 988, 990,
    989, 991, 990, 989, 991, 989, 990, 992, 990, 992, 992, 992, 992, 989, 993, 991, 992, 994, 993, 991, 993,
    993, 993, 994, 994, 993, 993, 993, 995, 762, 995, 994, 996, 993, 994, 995, 994, 997, 997, 997, 998, 999,
    999, 998, 999, 999, 998, 1000, 1000, 1000, 999, 1000, 1001, 1001, 1000, 1001, 1000, 1001, 1000, 1001,
    1002, 1001, 1002, 1001, 1001, 1002, 1004, 1001, 1003, 1001, 1003, 1002,
]  # fmt: skip


def test_a_climb_directly_after_a_fall_is_followed_step_by_step():
    series = LevelChangeDetector()
    for value in FALL_BEFORE_A_CLIMB:
        drifts = series.append(value)
        assert [drift.index for drift in drifts] == sorted({drift.index for drift in drifts})
    assert drifts == find_level_changes(FALL_BEFORE_A_CLIMB)


@settings(max_examples=thorough.choose(4, 30))
@given(st.integers(0, 2**32), st.booleans())
def test_a_long_noisy_series_is_followed_step_by_step(seed, bimodal):
    rng = np.random.default_rng(seed)
    steps = np.cumsum((rng.random(400) < 1 / 50) * rng.integers(-15, 16, 400))
    values = (5000 + steps + rng.normal(0, 2, 400).round() + 64 * bimodal * (rng.random(400) < 0.3)).tolist()
    series = LevelChangeDetector()
    for n, value in enumerate(values, 1):
        drifts = series.append(value)
        if n % 17 == 0:
            assert drifts == find_level_changes(values[:n])


@settings(max_examples=60)
@given(histories(), st.lists(st.integers(1, 100), max_size=5), st.booleans())
def test_how_the_points_come_in_does_not_matter(values, cuts, sampled):
    samples = [[v, v] for v in values] if sampled else None
    series = LevelChangeDetector()
    begin = 0
    for cut in [*np.cumsum(cuts).tolist(), len(values)]:
        series.extend(values[begin:cut], samples and samples[begin:cut])
        series.find_changes()
        begin = max(begin, cut)
    assert series.find_changes() == find_level_changes(values, samples=samples)


@settings(max_examples=60)
@given(st.lists(st.integers(2**53, 2**53 + 3) | st.integers(-(2**70), 2**70), min_size=1, max_size=80), st.booleans())
def test_huge_whole_numbers_are_appended_as_they_are_read(values, sampled):
    samples = [[v, v] for v in values] if sampled else None
    series = LevelChangeDetector()
    for i, value in enumerate(values):
        drifts = series.append(value, samples and samples[i])
    assert drifts == find_level_changes(values, samples=samples)


@settings(max_examples=100)
@given(st.lists(st.integers(0, 3) | st.integers(0, 2**70), max_size=60))
def test_any_whole_numbers_are_judged_without_error(values):
    drifts = find_level_changes(values)
    assert all(0 < d.low <= d.index <= d.high < len(values) for d in drifts)
    assert [d.index for d in drifts] == sorted({d.index for d in drifts})


@settings(max_examples=100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60))
def test_any_finite_numbers_are_judged_without_error(values):
    for drift in find_level_changes(values):
        assert np.isfinite([drift.before, drift.after]).all()


def test_a_change_far_from_every_known_one_is_kept_whatever_its_size():
    known = LevelChange(10, 5, 6, 10, 10, "exact", "")
    far = LevelChange(200, 7.0, 7.0, 200, 200, "step", "")
    assert MergedChanges([known]).update([far]) == [known, far]


def test_a_step_that_the_newest_points_show_as_well_is_one_change():
    rng = np.random.default_rng(5)
    twice = 0
    for _ in range(60):
        level, later = (1000 + rng.integers(-40, 41, 2)).tolist()
        climbing = level + np.arange(60) // 7 + rng.integers(-1, 2, 60)
        values = [*climbing.tolist(), *(later + rng.integers(-1, 2, 24)).tolist()]
        series = LevelChangeDetector()
        for n in range(20, len(values) + 1):
            series.extend(values[0 if n == 20 else n - 1 : n])
            drifts = series.find_changes()
            indexes = [drift.index for drift in drifts]
            twice += indexes != sorted(set(indexes))
            if drifts and drifts[-1].rule == "newest" and len(drifts) > 1 and drifts[-2].rule == "step":
                step, newest = drifts[-2:]
                same = (step.after > step.before) == (newest.after > newest.before)
                twice += same and newest.index <= step.high
    assert twice == 0
