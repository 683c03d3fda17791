from __future__ import annotations

import random

import pytest

from service.rules.comparison.budgets import BudgetState, compare_with_budget
from service.rules.comparison.metric_decision import decide_count, decide_noisy_metric

ERROR = 1e-4


def noisy(change: float, n: int = 100) -> list[tuple[float, float]]:
    chance = random.Random(change)
    return [(1000 * chance.gauss(1, 0.02), 1000 * (1 + change) * chance.gauss(1, 0.02)) for _ in range(n)]


@pytest.mark.parametrize(
    ("change", "n", "state"),
    [(-0.02, 200, BudgetState.WITHIN), (-0.047, 100, BudgetState.OPEN), (-0.09, 100, BudgetState.OVER)],
)
def test_a_noisy_change_is_over_only_if_it_surely_is(change: float, n: int, state: BudgetState) -> None:
    pairs = noisy(change, n)
    assert compare_with_budget(pairs, decide_noisy_metric(pairs, 3, ERROR), "5 %", ERROR) is state


def test_without_a_tolerance_a_change_that_is_sure_is_over() -> None:
    pairs = noisy(-0.05)
    decision = decide_noisy_metric(pairs, 3, ERROR)
    assert compare_with_budget(pairs, decision, 0, ERROR) is BudgetState.OVER
    assert compare_with_budget(pairs, decision, "none", ERROR) is BudgetState.WITHIN


@pytest.mark.parametrize(
    ("budget", "state"),
    [(0, BudgetState.OVER), (999, BudgetState.OVER), (1_000, BudgetState.WITHIN), ("9 %", BudgetState.OVER)],
)
def test_an_intermittent_change_is_held_to_its_budget_where_it_shows(budget: int | str, state: BudgetState) -> None:
    pairs = [(10_000, 11_000)] * 20 + [(10_000, 10_000)] * 30
    decision = decide_count(pairs, ERROR)
    assert decision.changed_pairs == 20
    assert compare_with_budget(pairs, decision, budget, ERROR) is state


def test_jitter_around_the_budget_is_not_over_it() -> None:
    pairs = [(100, 116 + jitter) for jitter in (-1, 0, 1)] * 20
    assert compare_with_budget(pairs, decide_count(pairs, ERROR), 16, ERROR) is not BudgetState.OVER
