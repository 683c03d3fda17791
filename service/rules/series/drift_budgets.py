"""Holds the drifts of a series to the budget of its workload.

A drift for the worse is within the budget if neither it nor all drifts since the baseline together exceed the budget:
small steps cannot add up unnoticed. The baseline is the initial level, or the level after the last expected drift.
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
    """Return for each drift of a series, in their order, whether it is for the worse and within the budget.

    Parameters
    ----------
    budget
        None if the workload has no budget: then no drift is within it.
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
        # A total in the other direction is no loss: the drift takes back a part of an earlier improvement.
        has_same_direction = (total_change > 0) == (after > before)
        exceeds_in_total = has_same_direction and is_over(budget, baseline, total_change)
        within_budget.append(is_regression and not exceeds_in_total and not is_over(budget, before, after - before))
        if drift.change.rule == "expected":
            baseline = after
    return within_budget
