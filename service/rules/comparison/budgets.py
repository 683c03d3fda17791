"""Compares a change with its budget: a gate fails only if the change significantly exceeds the budget.

A pair exceeds a budget if its head is worse than its base by more than the budget. A change of the level exceeds the
budget if significantly more than half of all pairs do. An intermittent change, which shows in fewer pairs, exceeds the
budget if pairs in which head is worse by more than the budget are significantly more frequent than pairs in which base
is worse by more than the budget.
"""

from __future__ import annotations

from enum import StrEnum

from runner.contract.budget import NO_BUDGET, Budget, is_over
from runner.contract.judging import Judging
from service.rules.comparison.large_differences import Pairs, keep_large_differences
from service.rules.comparison.metric_decision import MetricDecision
from service.rules.comparison.sign_test import Signs, decide_direction, is_significant_majority


class BudgetState(StrEnum):
    """How a change for the worse relates to its budget."""

    WITHIN = "within"
    OPEN = "open"
    """The change may exceed the budget; more pairs would decide."""
    OVER = "over"


def get_budget(judging: Judging, metric: str) -> Budget:
    """Return the budget of a metric. By default it is zero: a single additional fault makes the gate fail."""
    return judging.budgets.get(metric, 0)


def compare_with_budget(pairs: Pairs, decision: MetricDecision, budget: Budget, alpha: float) -> BudgetState:
    """Return whether a change for the worse is within its budget, may exceed it, or significantly exceeds it.

    Parameters
    ----------
    pairs
        The pairs by which the change was decided.
    decision
        The decision that the metric changed; its direction is the one for the worse.
    alpha
        Bound of the probability that a change within its budget is ever judged to exceed it.
    """
    if budget == NO_BUDGET:
        return BudgetState.WITHIN
    direction = decision.direction
    n_pairs = len(pairs)
    # For a change of the level, the majority of the pairs decides.
    n_over = sum((head - base) * direction > 0 and is_over(budget, base, head - base) for base, head in pairs)
    if decision.changed_pairs is None:
        if is_significant_majority(n_over, n_pairs, alpha):
            return BudgetState.OVER
        return BudgetState.WITHIN if is_significant_majority(n_pairs - n_over, n_pairs, alpha) else BudgetState.OPEN
    # For an intermittent change, pairs over the budget in its direction have to outnumber those in the opposite one.
    pairs = keep_large_differences(pairs, decision.min_difference)
    n_over = sum((head - base) * direction > 0 and is_over(budget, base, head - base) for base, head in pairs)
    n_over_reversed = sum((base - head) * direction > 0 and is_over(budget, head, base - head) for base, head in pairs)
    if decide_direction(Signs(n_over, n_pairs - n_over - n_over_reversed, n_over_reversed), alpha) > 0:
        return BudgetState.OVER
    return BudgetState.OPEN if n_over > n_over_reversed else BudgetState.WITHIN
