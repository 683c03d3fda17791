"""Many small steps: each within its budget, and together over it. Pure.

A comparison of head and base knows one step. Beside it stands the level at which the metric was last wanted: that of
the beginning of its series, or the one after its last expected drift.
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


def is_small_step(one: MetricVerdict) -> bool:
    """Whether a verdict is one step for the worse that is within its budget."""
    return one.counts and one.direction == "regression" and not one.over


def crept_change(one: MetricVerdict, baseline: Baseline | None) -> Number | None:
    """Return by how much such a step leaves a metric worse than its baseline, where that is over its budget."""
    if baseline is None or not is_small_step(one) or one.head.level is None or not one.change:
        return None
    whole = one.head.level - baseline.level
    same_way = (whole > 0) == (one.change > 0)
    return whole if same_way and is_over(one.budget, baseline.level, whole) else None
