"""Compares the drifts of a series with the budget of its workload.

A drift for the worse is within the budget if neither the drift nor the sum of all drifts since the baseline exceeds the
budget, so that small steps cannot add up unnoticed. The baseline is the initial level, or the level after the last
expected drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from runner.contract.budget import Budget, is_over
from runner.contract.level import Number
from service.rules.series.find_drifts import SeriesDrift, get_direction
from service.schemas.history import Direction


def are_within_budget(
    drifts: Sequence[SeriesDrift], budget: Budget | None, better: Literal["lower", "higher"]
) -> list[bool]:
    """Return, for each drift of a series in order, whether it is for the worse and within the budget.

    Parameters
    ----------
    budget
        The budget of the workload; None if it has none, so that no drift is within it.
    """
    if budget is None:
        return [False] * len(drifts)
    within_budget = []
    baseline: Number | None = None
    for drift in drifts:
        before, after = drift.change.before, drift.change.after
        baseline = before if baseline is None else baseline
        is_regression = get_direction(drift, better) is Direction.REGRESSION
        total_change = after - baseline
        # If the total has the other direction, it is no loss: the drift undoes a part of an earlier improvement.
        has_same_direction = (total_change > 0) == (after > before)
        exceeds_in_total = has_same_direction and is_over(budget, baseline, total_change)
        within_budget.append(is_regression and not exceeds_in_total and not is_over(budget, before, after - before))
        if drift.change.rule == "expected":
            baseline = after
    return within_budget
