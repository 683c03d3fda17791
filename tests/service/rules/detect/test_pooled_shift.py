"""A shift of the whole suite, too small for any one benchmark, from one run."""

import numpy as np
import pytest

from service.rules.detect import find_pooled_shift


def suite(seed, shift, benchmarks=45):
    rng = np.random.default_rng(seed)
    base = np.exp(rng.uniform(5, 14, benchmarks)).round()
    history = (base[:, None] + rng.normal(0, 2.1, (benchmarks, 40)).round()).tolist()
    newest = base + rng.normal(0, 2.1, benchmarks).round() + shift
    newest[::20] += 512
    return history, newest.tolist()


def test_two_faults_in_forty_benchmarks_are_one_event():
    results = [find_pooled_shift(*suite(seed, 2)) for seed in range(20)]
    shifts = [event for event in results if event]
    assert len(shifts) >= 17
    assert all(event.low < event.shift < event.high and event.p_value <= 1e-3 for event in shifts)
    assert np.mean([event.shift for event in shifts]) == pytest.approx(2.2, abs=0.5)


def test_a_suite_that_did_not_move_has_no_shift():
    assert [find_pooled_shift(*suite(seed, 0)) for seed in range(40)] == [None] * 40


def test_an_exact_suite_that_moved_by_one_is_told_and_one_at_rest_is_not():
    history = [[100 + i] * 10 for i in range(12)]
    assert find_pooled_shift(history, [100 + i for i in range(12)]) is None
    assert find_pooled_shift(history, [101 + i for i in range(12)]).shift == 1


@pytest.mark.parametrize(("level", "step", "written"), [(0.5, 2**-11, "+0.000488"), (100_000, -4096, "−4,096")])
def test_a_shift_of_any_size_is_written_so_that_it_can_be_read(level, step, written):
    shift = find_pooled_shift([[level] * 10] * 12, [level + step] * 12)
    assert shift.evidence.startswith(f"in one run, the trimmed mean of 12 series moved by {written}, and 12 of them")


def test_too_few_benchmarks_say_nothing_and_lengths_must_agree():
    assert find_pooled_shift([[1] * 10] * 3, [2] * 3) is None
    with pytest.raises(ValueError, match="`histories` has 1"):
        find_pooled_shift([[1]], [1, 2])
