from __future__ import annotations

import pytest

from runner.contract import Verdict
from service.rules.comparison.comparison_verdict import build_verdict
from service.rules.comparison.metric_decision import MetricDecision
from service.rules.gate.gradual_regression import Baseline, find_gradual_change


@pytest.mark.parametrize(
    ("base", "head", "baseline", "budget", "whole"),
    [
        (108, 109, 100, "5 %", 9),
        (108, 109, 105, "5 %", None),  # together still within it
        (108, 109, 120, "5 %", None),  # better than it was
        (109, 108, 100, "5 %", None),  # a step for the better
        (108, 108, 100, "5 %", None),  # no step at all
        (108, 109, 100, "none", None),
        (7, 8, 0, 3, 8),
    ],
)
def test_small_steps_count_together(base: int, head: int, baseline: int, budget: int | str, whole: int | None) -> None:
    verdict = Verdict.SAME if base == head else Verdict.CHANGED
    step = build_verdict("minor-faults", MetricDecision(verdict, "exact", ""), [base] * 5, [head] * 5, counts=True)
    noisy = step.model_copy(update={"budget": budget, "rule": "paired"})
    assert find_gradual_change(noisy, Baseline(baseline, "a" * 40)) is None
    assert find_gradual_change(step.model_copy(update={"budget": budget}), Baseline(baseline, "a" * 40)) == whole
    assert find_gradual_change(step.model_copy(update={"budget": budget}), None) is None
    assert (
        find_gradual_change(step.model_copy(update={"budget": 0, "over_budget": True}), Baseline(baseline, "a" * 40))
        is None
    )
