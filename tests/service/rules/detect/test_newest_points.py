"""Where the newest points left the previous level."""

import random
from statistics import median_low

from service.rules.detect.detector import find_level_changes

ONE_RUN_EACH = [938, 969, 978, 951, 967.5, 1799, 1818, 1805, 1782.5]
"""The faults of a program with threads at nine commits, of which the sixth allocates more."""
RERUNS = [1769.5, 1765.5, 1850, 1777.5, 1778.5, 1814.5, 1809, 1768, 1788.5]
"""The runs of the tenth commit, which changes a comment."""


def test_reruns_of_the_newest_commit_do_not_make_it_the_culprit() -> None:
    for runs in range(len(RERUNS) + 1):
        (change,) = find_level_changes(ONE_RUN_EACH + RERUNS[:runs])
        assert (change.index, change.before) == (5, 967.5), runs


def test_however_many_runs_follow_a_step_it_stays_where_it_was() -> None:
    chance, seen, elsewhere = random.Random(1), 0, []
    for _ in range(1000):
        before, after, sigmas = chance.randint(3, 16), chance.randint(1, 40), chance.choice([8, 12, 40, 800])
        values = [1000 + chance.gauss(0, 10) for _ in range(before)]
        values += [1000 + 10 * sigmas + chance.gauss(0, 10) for _ in range(after)]
        for change in find_level_changes(values):
            if abs(change.after - change.before) > 5 * sigmas:
                seen += 1
                elsewhere += [(before, after, change)] if change.index != before else []
    assert seen > 700
    assert len(elsewhere) <= 4, elsewhere


def test_a_step_far_beyond_the_modes_of_a_young_series_is_sure() -> None:
    # A Go program's threads start when they like: its counts, of which three to eight make a run, have six modes.
    modes, weights = [334, 335, 338, 339, 343, 344], [10, 25, 25, 35, 3, 2]
    chance, sure = random.Random(1), 0
    for _ in range(50):
        runs = [chance.choices(modes, weights, k=chance.choice([3, 5, 8])) for _ in range(22)]
        runs[11:] = [[count + 3000 for count in run] for run in runs[11:]]
        changes = find_level_changes([median_low(run) for run in runs], samples=runs)
        sure += [(change.index, change.wants_rerun) for change in changes] == [(11, False)]
    assert sure >= 49
