"""Computes the price of a change of a fault count: its CPU time, at the measured cost of a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot

from runner.contract.number_text import format_difference, format_percent, format_quantity
from service.schemas.history import FaultPrice, Number

PRICED_METRICS = frozenset({"minor-faults", "page-faults", "region:minor-faults", "region:page-faults"})
"""The counts of faults that only take CPU time; the cost of a major fault depends on the storage."""
UNMEASURED_FAULT_SECONDS = 0.5e-6
"""CPU time of a minor fault if it was not measured: about what the canary measures on current hosts."""
_HUGE_PAGES = ("cgroup:thp_fault_alloc",)
_HUGE_PAGE_SETTINGS = ("process.huge_pages", "thp.enabled")
_MIN_CPU_SHARE = 0.01
"""A change that takes a smaller share of the CPU time is not worth anybody's time."""
_COST_UNCERTAINTY = 0.25
"""Relative uncertainty of the cost of a fault according to one profile: two standard deviations.

Among eight profiles of one program, the standard deviation was 12 % with 260 recorded stacks of CPU time, and 4 % with
1,600 stacks."""


@dataclass(frozen=True, slots=True)
class FaultCosts:
    """What one fault costs, in seconds of CPU time; None if that was not measured.

    Attributes
    ----------
    before, after
        According to a profile of each side: CPU time within the kernel's fault handler, divided by its faults.
    host
        According to the host's canary: the first touch of a page.
    """

    before: float | None = None
    after: float | None = None
    host: float | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a change: its faults, its other metrics and its settings."""

    faults: Number
    levels: Mapping[str, Number]
    settings: Mapping[str, str]


def price_change(metric: str, before: Side, after: Side, costs: FaultCosts, spread: Number = 0) -> FaultPrice | None:
    """Return the price of a change of a fault count.

    It is None if no cost was measured, if the price is within its noise, or if it cannot be true.

    Both sides normally share one cost, so that the price has the sign of the change. Two profiles measure it slightly
    differently; multiplied by all faults, this noise could exceed the price of a small change. But a fault that brings
    a huge page costs a hundred times as much as any other. So if the sides may use huge pages differently, each must
    have its own cost, and the price is ``after.faults · cost after - before.faults · cost before``.

    Parameters
    ----------
    spread
        By how many faults executions of one side differ; 0 if the count repeats. Each side may be off its level by half
        of this, so the change may be off by all of it.
    """
    if metric not in PRICED_METRICS:
        return None
    # The cost of a fault on each side: according to its own profile, or one cost for both.
    may_differ = _may_differ_in_huge_pages(before, after)
    uncertainty = 0.0
    if costs.before and costs.after:
        source = "profiles of both sides"
        if may_differ:
            cost_before, cost_after = costs.before, costs.after
            # The errors of the two profiles are independent, so their squares add up.
            uncertainty = _COST_UNCERTAINTY * hypot(after.faults * cost_after, before.faults * cost_before)
        else:
            cost_before = cost_after = _compute_common_cost(before, after, (costs.before, costs.after))
    else:
        source = "a profile of the case" if costs.after or costs.before else "the host's canary"
        cost = costs.after or costs.before or costs.host
        if not cost or may_differ:
            return None
        cost_before = cost_after = cost
    # With one cost, the integer counts are subtracted first, so that their difference is exact however large they are.
    if cost_before == cost_after:
        seconds = float((after.faults - before.faults) * cost_before)
    else:
        seconds = float(after.faults * cost_after - before.faults * cost_before)
    uncertainty += float(spread * max(cost_before, cost_after))
    # A price within its uncertainty says nothing.
    if uncertainty and abs(seconds) <= uncertainty:
        return None
    cpu_seconds = before.levels.get("region:task-clock" if metric.startswith("region:") else "task-clock")
    share = seconds / cpu_seconds if cpu_seconds else None
    if share is not None and share < -1:  # no change can save more than all of the CPU time: the cost is wrong
        return None
    return FaultPrice(
        seconds=seconds,
        share=share,
        uncertainty=uncertainty,
        fault_before=cost_before,
        fault_after=cost_after,
        source=source,
        sentence=_describe_price(seconds, share, uncertainty, (cost_before, cost_after), source, varies=bool(spread)),
    )


def _compute_common_cost(before: Side, after: Side, costs: tuple[float, float]) -> float:
    """Return the mean cost of a fault on both sides, weighted by their numbers of faults."""
    cost_before, cost_after = costs
    faults = float(before.faults + after.faults)
    if not faults:
        return (cost_before + cost_after) / 2
    return float(before.faults * cost_before + after.faults * cost_after) / faults


def _may_differ_in_huge_pages(before: Side, after: Side) -> bool:
    """Return whether the sides may use huge pages differently."""
    return any(before.levels.get(name) != after.levels.get(name) for name in _HUGE_PAGES) or any(
        before.settings.get(name) != after.settings.get(name) for name in _HUGE_PAGE_SETTINGS
    )


def _describe_price(
    seconds: float,
    share: float | None,
    uncertainty: float,
    fault_costs: tuple[float, float],
    source: str,
    *,
    varies: bool,
) -> str:
    """Return a price in words: the CPU time with its uncertainty, its share, and the cost of a fault.

    Parameters
    ----------
    fault_costs
        The cost of a fault before and after the change, in seconds.
    source
        What measured these costs.
    varies
        Whether the count varies, so that this adds to the uncertainty.
    """
    costs = " and ".join(dict.fromkeys(format_quantity(cost, "s") for cost in fault_costs))
    change = format_difference(seconds, "s")
    uncertainty_clause = ""
    if uncertainty:
        causes = ["the count varies"] if varies else []
        if len(set(fault_costs)) > 1 or not varies:
            causes.append("the cost per fault differs between profiles of a program")
        change += f" ± {format_quantity(uncertainty, 's')}"
        uncertainty_clause = f"; uncertain because {' and '.join(causes)}"
    if share is None:
        cpu_time = f"{change} of CPU time"
    elif abs(share) < _MIN_CPU_SHARE:
        cpu_time = f"almost no CPU time: {change} ({format_percent(100 * share)})"
    else:
        cpu_time = f"{change} of CPU time ({format_percent(100 * share)})"
    return f"{cpu_time}, at {costs} per fault according to {source}{uncertainty_clause}"
