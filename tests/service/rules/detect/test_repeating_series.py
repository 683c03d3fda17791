"""Counts that repeat to the fault: one more fault is a drift, on one run."""

import random
import statistics

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


def test_outliers_do_not_hide_a_step():
    """Most points have one sample, since it repeated the one before; a disturbed one has three, of which two agree."""
    values = [4185] * 7 + [53337] * 2 + [53338] * 3 + [53894] * 4 + [4742] * 4
    samples = [[value] for value in values]
    for index in (0, 7, 9, 12, 16):
        samples[index] *= 2
    for index, outlier in ((3, 1), (10, -1), (18, 16)):
        samples[index] = [values[index], values[index] + outlier, values[index]]
    assert [drift.index for drift in find_level_changes(values, samples=samples)] == [7, 9, 12, 16]


@pytest.mark.parametrize(
    "samples",
    [
        [[7, 7]] + [[7]] * 11 + [[9, 7, 7]] + [[7]] * 3 + [[9, 9]] + [[9]] * 2,
        [[7, 7]] + [[7]] * 11 + [[9, 9]] + [[9]] + [[7, 9, 9]] + [[9]] * 2,
    ],
    ids=["the new value was seen before", "the old value is seen again"],
)
def test_a_value_that_the_samples_show_on_both_sides_of_a_step_is_no_certain_drift(samples):
    """Sampling stops at the expected value, so a program with two exact values seems to stay at either."""
    values = [sorted(run)[len(run) // 2] for run in samples]
    assert [d for d in find_level_changes(values, samples=samples) if not d.wants_rerun] == []
    alone = find_level_changes(values, samples=[[value] for value in values])
    assert [(d.index, d.wants_rerun) for d in alone] == [(values.index(9), False)]


def test_runs_between_two_levels_that_agree_with_neither_show_that_the_series_is_noisy():
    values = [784] * 8 + [787, 789, 785, 792, 788, 788, 788, 787, 787, 790, 785, 789, 788, 788, 785, 786, 788, 791, 790]
    assert [d.index for d in find_level_changes(values) if d.rule == "exact"] == []


def test_a_level_with_two_exact_values_is_left_for_another_one():
    """Both values are new after the step, so that no run ever returns."""
    low = [[100, 164][i % 3 == 0] for i in range(90)]
    high = [[300, 364][i % 3 == 0] for i in range(90)]
    (drift,) = find_level_changes(low + high)
    assert (drift.low <= 90 <= drift.high, drift.wants_rerun) == (True, False)


def test_a_run_that_was_off_by_one_does_not_excuse_a_step_of_thousands() -> None:
    before = [338, 338, 338, 338, 339, 338, 338, 338, 338, 338, 338]
    (change,) = find_level_changes([*before, *(count + 3000 for count in before)])
    assert (change.index, change.wants_rerun) == (11, False)
    # Once a run had gone as far, as many runs may go there by chance.
    (change,) = find_level_changes([*(4000 if count == 339 else count for count in before), *[3338, 3339] * 5, 3338])
    assert change.wants_rerun


def modes(rng: random.Random) -> tuple[list[int], list[float]]:
    """Counts of a program with some exact modes, and how often each occurs."""
    counts = sorted(rng.sample(range(332, 345), rng.choice([1, 2, 3, 4])))
    return counts, [rng.random() ** 2 + 0.01 for _ in counts]


def test_a_large_step_is_never_unnoticed_whatever_modes_a_count_has() -> None:
    certain = 0
    for seed in range(600):
        rng = random.Random(seed)
        counts, often = modes(rng)
        before, after = rng.choice([(11, 11), (8, 14), (15, 7)])
        samples = [
            [count + 3000 * (place >= before) for count in rng.choices(counts, often, k=rng.choice([1, 3, 5, 8]))]
            for place in range(before + after)
        ]
        changes = find_level_changes([statistics.median_low(run) for run in samples], samples=samples)
        shown = [change for change in changes if change.low <= before <= change.high and change.after > 3000]
        assert shown, (seed, samples)
        certain += not shown[-1].wants_rerun
    assert certain >= 570


def test_a_first_run_in_a_rare_mode_does_not_hide_a_step() -> None:
    first = [[344, 340, 344]]
    samples = first + [[340, 344, 340], [340, 340, 340], [340, 340, 344]] * 4 + [[640, 640, 644]] * 11
    (change,) = find_level_changes([statistics.median_low(run) for run in samples], samples=samples)
    assert (change.low, change.before, change.after, change.wants_rerun) == (13, 340, 640, False)


def test_an_outlier_just_before_a_large_step_does_not_belong_to_it() -> None:
    before = [336, 336, 336, 336, 336, 338, 336, 338, 336, 336, 336, 338, 338, 338, 340]
    (change,) = find_level_changes([*before, 3338, 3340, 3340, 3340, 3340, 3340, 3338])
    assert change.index == 15


def test_a_small_exact_change_does_not_hide_a_large_one_just_after_it() -> None:
    changes = find_level_changes([339, *[334] * 8, 333, 333, *[3334, 3334, 3334, 3333, 3334, 3333, 3333, 3333, 3334]])
    assert any(change.low <= 11 <= change.high and change.after > 3000 for change in changes)


def test_a_step_within_what_the_samples_of_a_level_vary_by_is_no_fact_at_once() -> None:
    values = [4808] * 6 + [4807] * 6
    samples = [(4808, 4810, 4808), (4808, 4808), (4808, 4812, 4808), *[(4808, 4808)] * 3, *[(4807, 4807)] * 6]
    (within,) = find_level_changes(values, samples=samples)
    (beyond,) = find_level_changes([4808] * 6 + [4908] * 6, samples=[*samples[:6], *[(4908, 4908)] * 6])
    assert (within.index, within.wants_rerun) == (6, True)
    assert (beyond.index, beyond.wants_rerun, beyond.rule) == (6, False, "exact")


@pytest.mark.parametrize("later_runs", [1, 7, 8, 9, 100])
def test_a_change_after_the_first_run_stays_a_suspicion_however_many_runs_follow(later_runs: int) -> None:
    values = [148] + [149] * later_runs
    (change,) = find_level_changes(values, samples=[[value] * 2 for value in values])
    assert (change.index, change.before, change.after, change.wants_rerun) == (1, 148, 149, True)


def test_a_change_after_the_first_run_does_not_hide_behind_a_later_one() -> None:
    values = [148] + [149] * 7 + [150] * 8
    changes = find_level_changes(values, samples=[[value] * 2 for value in values])
    assert [(change.index, change.before, change.after) for change in changes] == [(1, 148, 149), (8, 149, 150)]


@pytest.mark.parametrize("first_samples", [[148], [148, 149]])
def test_a_first_run_whose_samples_do_not_repeat_may_be_an_outlier(first_samples: list[int]) -> None:
    values = [148] + [149] * 20
    assert not find_level_changes(values, samples=[first_samples, *([149] * 2 for _ in range(20))])


@pytest.mark.parametrize(
    ("last_samples", "subject"),
    [
        ([149, 149], "the newest run is"),
        ([149, 149, 150, 150, 149, 149], "2 of the 3 newest measurements are"),
        ([149, 149, 151, 151], "the 2 newest measurements are"),
    ],
)
def test_a_suspicion_counts_the_reruns_of_the_newest_commit(last_samples: list[int], subject: str) -> None:
    values = [148] * 12 + [150, 150, 149]
    samples = [*([value] * 2 for value in values[:-1]), last_samples]
    *_, change = find_level_changes(values, samples=samples)
    assert (change.index, change.before, change.after, change.wants_rerun) == (14, 150, 149, True)
    assert change.evidence.endswith(f"{subject} off the previous level; further runs can show whether the change lasts")


def test_the_evidence_of_a_change_without_outliers_counts_the_runs_on_each_side():
    values = [100] * 12 + [110, 112, 112]
    (drift,) = find_level_changes(values, samples=[[value] for value in values])
    assert drift.evidence.endswith(": 12 successive runs have the same value, and none of the 3 after them has it")
