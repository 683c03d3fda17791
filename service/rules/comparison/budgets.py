"""Compares a change with its budget by the nearer bound of the change, so a failure certainly exceeds the budget.

A pair exceeds a budget if head is worse than its base by more than the budget. The true change exceeds the budget if
more than half of all pairs certainly do. An intermittent change, which shows in fewer pairs, exceeds the budget if
pairs in which head is worse by more than the budget are certainly more frequent than pairs in which base is.
"""

from __future__ import annotations

from enum import StrEnum

from runner.contract.budget import NO_BUDGET, Budget, is_over
from service.rules.comparison.metric_decision import MetricDecision, Pairs, keep_large_differences
from service.rules.comparison.sign_test import Signs, decide_direction, is_surely_majority


class BudgetState(StrEnum):
    """How a change for the worse relates to its budget."""

    WITHIN = "within"
    OPEN = "open"
    """The change may exceed the budget; more pairs would decide."""
    OVER = "over"


def compare_with_budget(pairs: Pairs, decision: MetricDecision, budget: Budget, alpha: float) -> BudgetState:
    """Return whether a change for the worse is within its budget, may exceed it, or certainly exceeds it.

    Parameters
    ----------
    pairs
        The pairs by which the change was decided.
    decision
        That the metric changed, with the direction for the worse.
    alpha
        The probability that a change within its budget is ever judged to exceed it.
    """
    if budget == NO_BUDGET:
        return BudgetState.WITHIN
    direction = decision.direction
    n_pairs = len(pairs)
    # A change of the level: most pairs decide.
    n_over = sum((head - base) * direction > 0 and is_over(budget, base, head - base) for base, head in pairs)
    if decision.changed_pairs is None:
        if is_surely_majority(n_over, n_pairs, alpha):
            return BudgetState.OVER
        return BudgetState.WITHIN if is_surely_majority(n_pairs - n_over, n_pairs, alpha) else BudgetState.OPEN
    # An intermittent change: the pairs that are over the budget in its direction have to outweigh the opposite ones.
    pairs = keep_large_differences(pairs, decision.min_difference)
    n_over = sum((head - base) * direction > 0 and is_over(budget, base, head - base) for base, head in pairs)
    n_over_reversed = sum((base - head) * direction > 0 and is_over(budget, head, base - head) for base, head in pairs)
    if decide_direction(Signs(n_over, n_pairs - n_over - n_over_reversed, n_over_reversed), alpha) > 0:
        return BudgetState.OVER
    return BudgetState.OPEN if n_over > n_over_reversed else BudgetState.WITHIN
