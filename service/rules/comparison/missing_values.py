"""Decides on a metric of which a side of a comparison has no value."""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract import ComparisonRequest, Verdict
from service.rules.comparison.metric_decision import MetricDecision


def list_missing_sides(metric: str, request: ComparisonRequest) -> list[str]:
    """Return the sides that have samples, but no value of a metric in any of them."""
    sides = (("base", request.base), ("head", request.head))
    return [side for side, report in sides if not report.list_values(metric) and report.samples]


def decide_missing_value(metric: str, missing_sides: Sequence[str], request: ComparisonRequest) -> MetricDecision:
    """Return the decision that a value is missing; it asks for one more pair only if each side has had a value."""
    if not missing_sides:
        sentence = "No pair of samples has a value on both sides."
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", sentence, remaining_pairs=1)
    reports = [getattr(request, side) for side in missing_sides]
    reasons = [reading.reason for report in reports for reading in report.list_readings(metric) if reading.reason]
    is_missing_on_both = len(missing_sides) == 2
    if reasons:
        clause = (
            "Neither base nor head has a value"
            if is_missing_on_both
            else f"{missing_sides[0].capitalize()} has no value"
        )
        sentence = f"{clause} for this metric: {reasons[0]}."
    else:
        clause = (
            "Neither base nor head reports"
            if is_missing_on_both
            else f"{missing_sides[0].capitalize()} does not report"
        )
        sentence = f"{clause} this metric."
    return MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", sentence)
