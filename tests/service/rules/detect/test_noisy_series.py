"""Noisy series: steps found where they are, outliers and wander left alone, a gradual drift reported as one ramp."""

import numpy as np
import pytest

from service.rules.detect import LevelChangeDetector, find_level_changes


def noise(seed, n, sigma=2.1):
    return np.random.default_rng(seed).normal(0, sigma, n).round()


def indices(values):
    return [d.index for d in find_level_changes(values)]


@pytest.mark.parametrize("level", [229, 1_800_000])
def test_a_step_of_eight_faults_is_found_whatever_the_level(level):
    values = level + noise(1, 160)
    values[80:] += 8
    (drift,) = find_level_changes(values.tolist())
    assert abs(drift.index - 80) <= 2
    assert drift.low <= 80 <= drift.high
    assert drift.after - drift.before == pytest.approx(8, abs=1.5)
    assert drift.rule == "step"
    assert "sigma" in drift.evidence


def test_single_outliers_are_no_drift():
    values = 5000 + noise(2, 300)
    values[[40, 120, 121, 200]] += [512, -128, 512, 128]
    assert indices(values.tolist()) == []


def test_a_step_reverted_after_five_points_is_two_drifts():
    values = 5000 + noise(3, 120, 1.0)
    values[60:65] += 12
    assert indices(values.tolist()) == [60, 65]


def test_two_loader_layouts_are_no_drift_but_a_step_of_both_is():
    rng = np.random.default_rng(4)
    values = 900 + noise(4, 200, 1.0) + 64 * (rng.random(200) < 0.35)
    assert indices(values.tolist()) == []
    values[120:] += 24
    assert [abs(at - 120) <= 2 for at in indices(values.tolist())] == [True]


def test_a_slow_climb_is_told_although_its_levels_are_hardly_known():
    climb = 100_000 * (1 + 0.02 * np.arange(10_000) / 10_000)
    rules = [
        [drift.rule for drift in find_level_changes(climb + np.random.default_rng(seed).normal(0, 300, 10_000))]
        for seed in range(20)
    ]
    assert rules.count(["ramp"]) >= 19
    assert ["step"] not in rules


def test_a_gradual_drift_is_one_ramp():
    values = 100_000 * (1 + 0.02 * np.arange(3000) / 3000) + noise(5, 3000, 150)
    (drift,) = find_level_changes(values.tolist())
    assert drift.rule == "ramp"
    assert drift.after - drift.before == pytest.approx(2000, rel=0.2)


def test_autocorrelated_rates_are_not_cut_to_pieces():
    rng = np.random.default_rng(6)
    values = [0.0]
    for shock in rng.normal(0, 1, 999):
        values.append(0.7 * values[-1] + shock)
    assert len([d for d in find_level_changes([100 + v for v in values]) if not d.wants_rerun]) <= 1


def test_the_newest_point_alone_asks_for_a_rerun_which_confirms_or_clears_it():
    values = [*(66_052 + noise(7, 100)).astype(int).tolist(), 66_052 + 20]
    (drift,) = find_level_changes(values)
    assert (drift.index, drift.wants_rerun) == (100, True)
    before = [[] for _ in values[:-1]]
    (drift,) = find_level_changes(values, samples=[*before, [66_072, 66_071, 66_073]])
    assert drift.wants_rerun  # three of a hundred may still be outliers
    (drift,) = find_level_changes(values, samples=[*before, [66_072, 66_071, 66_073, 66_072]])
    assert not drift.wants_rerun
    assert find_level_changes(values, samples=[*before, [66_072, 66_051, 66_053]]) == []


def test_two_outliers_in_succession_are_no_fact_yet():
    values = [*(66_052 + noise(7, 100)).astype(int).tolist(), 66_052 + 512, 66_052 + 128]
    assert [(d.index, d.wants_rerun) for d in find_level_changes(values)] == [(100, True)]
    before = [[] for _ in values[:-1]]
    assert find_level_changes(values, samples=[*before, [66_180, 66_051, 66_050]]) == []


@pytest.mark.parametrize("mixed", [[-257, -4, -130], [512, 2, 3, 128], [-514, -263, -4, -3, -3]])
def test_outliers_and_ordinary_runs_mixed_are_no_fact_yet(mixed):
    values = [*(66_052 + noise(7, 100)).astype(int).tolist(), *(66_052 + off for off in mixed)]
    assert [d for d in find_level_changes(values) if not d.wants_rerun] == []


@pytest.mark.parametrize("seed", [138, 318])
def test_coarse_jitter_does_not_pass_for_two_modes(seed):
    """Of differences of a few faults many are alike and alternate, by chance, as in these two series."""
    values = (66_052 + np.random.default_rng(seed).integers(-2, 3, 60)).tolist()
    assert [d for d in find_level_changes(values) if not d.wants_rerun] == []


def test_small_steps_count_if_enough_runs_follow():
    values = 5000 + noise(8, 200)
    values[100:] += 6
    assert [abs(at - 100) <= 4 for at in indices(values.tolist())] == [True]


def shifted(seed, runs, size):
    values = np.random.default_rng(seed).normal(100, 1, 2 * runs)
    values[runs:] += size
    return find_level_changes(values.tolist())


def test_a_small_shift_is_a_suspicion_first_and_certain_later():
    early = [shifted(seed, 45, 1) for seed in range(40)]
    late = [shifted(seed, 120, 2) for seed in range(40)]
    assert sum(bool(drifts) for drifts in early) >= 34
    assert sum(any(not drift.wants_rerun for drift in drifts) for drifts in late) >= 34


def test_a_host_that_wandered_before_an_earlier_change_does_not_hide_a_later_one():
    certain = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = 100 + rng.normal(0, 1, 260)
        values[:140] += np.cumsum(rng.normal(0, 0.25, 140))
        values[140:] += values[130:140].mean() - 100 + 3  # an earlier change ends the wander
        values[200:] -= 3.5
        drifts = find_level_changes(values.tolist())
        certain += any(abs(drift.index - 200) <= 3 and not drift.wants_rerun for drift in drifts)
    assert certain >= 34


def test_a_step_back_is_as_certain_as_the_step_before_it():
    certain = [0, 0]
    for seed in range(60):
        values = np.random.default_rng(seed).normal(1000, 1, 550)
        values[250:300] += 2
        drifts = [drift for drift in find_level_changes(values.tolist()) if not drift.wants_rerun]
        for number, index in enumerate((250, 300)):
            certain[number] += any(drift.low <= index <= drift.high for drift in drifts)
    assert min(certain) >= 51


@pytest.mark.parametrize("seed", [469, 550, 1044])
def test_a_step_larger_than_wander_is_at_least_a_suspicion(seed):
    """By chance, wander explains these runs nearly as well."""
    assert any(abs(change.index - 40) <= 8 for change in shifted(seed, 40, 3))


@pytest.mark.parametrize("size", [1, 2])
def test_the_interval_of_the_position_covers_it(size):
    drifts = [drift for seed in range(100) for drift in shifted(seed, 100, size)[:1]]
    assert sum(drift.low <= 100 <= drift.high for drift in drifts) >= 0.9 * len(drifts) > 80


def test_what_the_newest_runs_may_show_does_not_hide_the_change_before_them():
    reported = 0
    for seed in range(40):
        values = np.random.default_rng(seed).normal(100, 1, 108)
        values[60:] += 3
        values[90:] += 1.2
        reported += any(abs(drift.index - 60) <= 8 for drift in find_level_changes(values.tolist()))
    assert reported >= 38


def test_numbers_in_the_evidence_have_their_thousands_apart():
    values = 1_234_567 + noise(9, 100)
    values[60:] += 20_000
    (drift,) = find_level_changes(values.astype(int).tolist())
    assert drift.evidence.startswith("1,234,56")
    assert "→ 1,254,56" in drift.evidence
    assert find_level_changes([12_345, 12_389], samples=[[12_345] * 2, [12_389] * 2])[0].evidence.startswith(
        "12,345 → 12,389"
    )


def test_zeros_then_one_is_told_and_confirmed_by_a_rerun():
    for n in (2, 3, 10, 50):
        assert [(d.index, d.wants_rerun) for d in find_level_changes([0] * n + [1])] == [(n, True)]
    assert [(d.index, d.wants_rerun) for d in find_level_changes([0] * 50 + [1, 1])] == [(50, True)]
    assert [(d.index, d.wants_rerun) for d in find_level_changes([0] * 50 + [1, 1, 1])] == [(50, False)]
    assert find_level_changes([0] * 50 + [1] + [0] * 5) == []


def test_numpy_numbers_are_taken_as_numbers():
    assert indices(list(np.array([5, 5, 5, 9, 9, 9]))) == indices([5, 5, 5, 9, 9, 9]) == [3]


@pytest.mark.parametrize(("values", "match"), [(["a"], "number"), ([True], "number"), ([1, None], r"values\[1\]")])
def test_what_is_no_number_is_refused(values, match):
    with pytest.raises(ValueError, match=match):
        find_level_changes(values)


def test_samples_of_another_length_are_refused():
    with pytest.raises(ValueError, match="`samples` has 1 points"):
        find_level_changes([1, 2], samples=[[1]])


def list_certain(values):
    return [change for change in find_level_changes(values) if not change.wants_rerun]


@pytest.mark.parametrize("seed", range(3))
def test_a_certain_step_is_not_withdrawn_for_a_later_one_far_from_it(seed):
    values = np.random.default_rng(seed).normal(1000, 10, 1500)
    values[100:800] += 20
    values = np.rint(values).tolist()
    for runs, steps in ((800, 1), (1500, 2)):
        changes = list_certain(values[:runs])
        assert len(changes) == steps
        assert changes[0].low <= 100 <= changes[0].high


@pytest.mark.parametrize("second", [20, -20, -50])
@pytest.mark.parametrize("gap", [60, 100, 200])
def test_a_certain_step_is_not_withdrawn_for_a_later_one_near_it(gap, second):
    """Between the two steps runs do not follow each other, so no wandering host moved them."""
    certain = withdrawn = both = 0
    for seed in range(6):
        values = np.random.default_rng(seed).normal(1000, 10, 100 + gap + 100)
        values[100:] += 20
        values[100 + gap :] += second
        values = np.rint(values).tolist()
        detector = LevelChangeDetector()
        detector.extend(values[: 100 + gap])
        if not any(abs(change.index - 100) <= 8 for change in list_certain(values[: 100 + gap])):
            continue
        certain += 1
        states = [detector.append(value)[:] for value in values[100 + gap :]]
        at_first = [any(abs(c.index - 100) <= 8 and not c.wants_rerun for c in changes) for changes in states]
        withdrawn += not all(at_first)
        both += len([change for change in states[-1] if not change.wants_rerun]) == 2
    assert certain >= 5
    assert withdrawn == 0
    assert both >= certain - 1


@pytest.mark.parametrize("noisy_first", [True, False])
def test_a_large_step_is_seen_beside_runs_of_another_program_with_more_noise(noisy_first: bool) -> None:
    """As a benchmark whose first version counted 60,000 faults more or less, and whose next ones 2 more or less."""
    rng = np.random.default_rng(1)
    noisy = rng.normal(3_000_000, 60_000, 8)
    quiet = np.concatenate([rng.normal(level, 2.2, 40) for level in (1_706_410, 1_707_132, 1_708_028)])
    values = np.rint(np.concatenate([noisy, quiet] if noisy_first else [quiet, noisy])).tolist()
    begin = len(noisy) if noisy_first else 0
    indices = [change.index for change in list_certain(values)]
    assert {begin + 40, begin + 80} <= set(indices)


@pytest.mark.parametrize("sizes", [(2, -2, 2, -2, 2), (-2, -2, -2, -2, -2)])
def test_many_small_steps_do_not_pass_for_wander(sizes):
    certain = 0
    for seed in range(4):
        values = np.random.default_rng(seed).normal(1000, 10, 1500)
        for number, size in enumerate(sizes, 1):
            values[250 * number :] += 10 * size
        indices = [change.index for change in list_certain(np.rint(values).tolist())]
        certain += sum(any(abs(index - 250 * number) <= 8 for index in indices) for number in range(1, 6))
    assert certain >= 18


def test_a_host_that_wanders_shows_hardly_a_certain_step():
    """Noise beside a random walk: half a sigma from run to run."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = 1000 + rng.normal(0, 10, 100) + np.cumsum(rng.normal(0, 5, 100))
        alarms += any(list_certain(values[:runs].tolist()) for runs in range(24, 101, 8))
    assert alarms <= 2
