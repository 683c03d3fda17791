"""Detects gradual regressions ("creep"): steps that are each within their budget, but together exceed it.

A comparison of head and base shows only a single step. So head is also compared with the metric's baseline: the level
at the beginning of its series, or after its last expected drift.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.contract import MetricVerdict
from runner.contract.budget import is_over
from runner.contract.level import Number


@dataclass(frozen=True, slots=True)
class Baseline:
    """The level from which a series is judged, and the commit at which it was measured."""

    level: Number
    commit: str


def is_small_step(verdict: MetricVerdict) -> bool:
    """Return whether a metric that counts is worse, but within its budget."""
    return verdict.counts and verdict.direction == "regression" and not verdict.over_budget and not verdict.may_exceed


def find_gradual_change(verdict: MetricVerdict, baseline: Baseline | None) -> Number | None:
    """Return the change since the baseline if a small step takes it over the budget; otherwise None.

    Only a count that repeats can be compared with a baseline from another session.
    """
    if (
        baseline is None
        or verdict.rule != "exact"
        or not is_small_step(verdict)
        or verdict.head.level is None
        or not verdict.change
    ):
        return None
    total = verdict.head.level - baseline.level
    has_same_direction = (total > 0) == (verdict.change > 0)
    return total if has_same_direction and is_over(verdict.budget, baseline.level, total) else None
