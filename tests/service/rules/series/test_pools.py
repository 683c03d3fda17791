"""Machines of a pool stand for each other only where commits measured on both have proven it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.contract.pool import POOL_SETTING
from service.rules.series.point_order import PathPoint
from service.rules.series.pools import MIN_COMMITS, find_stand_ins
from tests.service.rules.series.test_point_order import point


def machine(**settings: str) -> dict[str, str]:
    return {POOL_SETTING: "ci", "cpu.model": "X", "kernel.release": "6.1", **settings}


SETTINGS = {"A": machine(), "B": machine(**{"cpu.model": "Y"})}


def both(commits: int = MIN_COMMITS, *, other: int = 100) -> list[PathPoint]:
    """Return points of commits that were measured in A and in B."""
    return [
        point(environment, position, at=10 * position, value=value)
        for position in range(1, commits + 1)
        for environment, value in (("A", 100), ("B", other))
    ]


def test_equal_counts_of_enough_commits_prove_a_difference_harmless() -> None:
    assert find_stand_ins(both(), SETTINGS) == {"A": "A", "B": "A"}
    assert find_stand_ins(both(MIN_COMMITS - 1), SETTINGS) == {}


def test_one_other_count_keeps_environments_apart() -> None:
    points = both(MIN_COMMITS + 2)
    points[-1] = replace(points[-1], value=101, samples=(101, 101))
    assert find_stand_ins(points, SETTINGS) == {}


def test_several_runs_of_one_commit_are_one() -> None:
    points = [point(environment, 1, at=run) for run in range(9) for environment in "AB"]
    assert find_stand_ins(points, SETTINGS) == {}


def test_counts_that_do_not_repeat_prove_nothing() -> None:
    points = [replace(entry, samples=(100, 101)) for entry in both()]
    assert find_stand_ins(points, SETTINGS) == {}


def test_runs_that_were_not_measured_prove_nothing() -> None:
    points = [replace(entry, is_reused=entry.environment == "B") for entry in both()]
    assert find_stand_ins(points, SETTINGS) == {}


@pytest.mark.parametrize("other", [{}, {POOL_SETTING: "another"}])
def test_only_machines_of_one_pool_stand_for_each_other(other: dict[str, str]) -> None:
    alone = {name: value for name, value in SETTINGS["B"].items() if name != POOL_SETTING}
    assert find_stand_ins(both(), {**SETTINGS, "B": alone | other}) == {}


def test_what_was_proven_of_a_difference_holds_after_an_upgrade_of_all_machines() -> None:
    upgraded = {
        "C": machine(**{"kernel.release": "6.2"}),
        "D": machine(**{"kernel.release": "6.2", "cpu.model": "Y"}),
    }
    found = find_stand_ins([*both(), point("C", 9, at=900)], SETTINGS | upgraded)
    assert found == {"A": "A", "B": "A", "C": "C", "D": "C"}
    refuted = [point("A", 9, at=90), point("B", 9, at=91, value=7)]
    assert find_stand_ins([*both(), *refuted], SETTINGS | upgraded) == {}


def test_a_group_in_which_two_differ_is_no_group() -> None:
    third = {"C": machine(**{"cpu.model": "Z"})}
    of_c = [point("C", position, at=10 * position + 1) for position in (1, 2, 3)]
    assert find_stand_ins([*both(), *of_c], SETTINGS | third) == {"A": "A", "B": "A", "C": "A"}
    points = [*both(4), *of_c, point("C", 4, at=41, value=7)]
    assert "C" not in find_stand_ins(points, SETTINGS | third)
    apart = [point("A", 5, at=50), point("C", 5, at=51), point("B", 6, at=60, value=9), point("C", 6, at=61)]
    assert find_stand_ins([*both(), *of_c, *apart], SETTINGS | third) == {}


def test_a_machine_that_differs_does_not_part_the_others() -> None:
    third = {"C": machine(**{"cpu.model": "Z"})}
    of_c = [point("C", position, at=10 * position + 1) for position in (1, 2, 3)]
    of_a = [point("A", position, at=10 * position) for position in (1, 2, 3, 5, 6, 7, 9)]
    of_b = [point("B", position, at=10 * position, value=7 if position == 9 else 100) for position in (5, 6, 7, 9)]
    assert find_stand_ins([*of_a, *of_b, *of_c], SETTINGS | third) == {"A": "A", "C": "A"}
