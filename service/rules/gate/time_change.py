"""Describes the change of time that goes with a changed metric: measured if a time changed, otherwise its price."""

from __future__ import annotations

from collections.abc import Callable

from runner.contract import MetricVerdict, Verdict, get_metric
from runner.contract.metric_verdict_text import has_clearly_moved, name_metric
from runner.contract.number_text import format_difference, format_move, format_percent
from service.rules.fault_price import FaultCosts, Side, price_change
from service.rules.gate.verdict import CaseOutcome, MetricOutcome

_TIME_METRICS = ("elapsed", "throughput", "task-clock")
"""The metrics of how long a program takes; the one that users notice most comes first."""
_MIN_SHARE = 0.01
"""A price below this share of the CPU time is not shown."""


def describe_time_change(case: CaseOutcome, outcome: MetricOutcome) -> str:
    """Return ``elapsed time 63.5 → 164 ms (+159 %)`` or ``about +1.2 ms of CPU time``; empty if no time is known.

    Parameters
    ----------
    outcome
        The changed metric. If it is itself a time, the text is empty, so that the time is not named twice.
    """
    if outcome.metric_verdict.metric in _TIME_METRICS:
        return ""
    verdicts = {verdict.metric: verdict for verdict in case.comparison.metrics} if case.comparison else {}
    moved_times = (verdicts[name] for name in _TIME_METRICS if name in verdicts and _has_moved(verdicts[name]))
    # The times are in the catalogue, so their titles need no escaping.
    measured_time = next((describe_levels(verdict, str) for verdict in moved_times), "")
    return measured_time or _describe_price(case, outcome.metric_verdict, verdicts.get("user-time"))


def describe_levels(verdict: MetricVerdict, escape_text: Callable[[str], str]) -> str:
    """Return a metric with its levels in words: ``elapsed time 63.5 → 164 ms (+159 %)``.

    Parameters
    ----------
    escape_text
        Escapes the name of a metric outside of the catalogue, which the author of a pull request can choose.
    """
    levels = format_move(verdict.base.level or 0, verdict.head.level or 0, get_metric(verdict.metric).unit)
    percent_clause = "" if verdict.percent is None else f" ({format_percent(verdict.percent)})"
    return f"{name_metric(verdict.metric, escape_text)} {levels}{percent_clause}"


def _has_moved(verdict: MetricVerdict) -> bool:
    return has_clearly_moved(verdict) or (verdict.counts and verdict.verdict is Verdict.CHANGED)


def _describe_price(case: CaseOutcome, verdict: MetricVerdict, user_time: MetricVerdict | None) -> str:
    """Return the price of a change of a fault count at the cost of a fault on this host; empty if it is small.

    It is also empty if the program's own time clearly moved the other way, because the faults are then only one side of
    a trade-off, such as a smaller heap that is collected faster.
    """
    if (
        user_time is not None
        and has_clearly_moved(user_time)
        and _compute_growth(user_time) * _compute_growth(verdict) < 0
    ):
        return ""
    canary = case.case.head.canary  # measures on each host what a fault costs
    cost = canary.seconds_per_fault if canary else None
    sides = _make_side(case, verdict, is_base=True), _make_side(case, verdict, is_base=False)
    price = price_change(verdict.metric, *sides, FaultCosts(host=cost))
    if price is None or (price.share is not None and abs(price.share) < _MIN_SHARE):
        return ""
    share = "" if price.share is None else f" ({format_percent(100 * price.share)})"
    return f"about {format_difference(price.seconds, 's')} of CPU time{share}"


def _compute_growth(verdict: MetricVerdict) -> float:
    return (verdict.head.level or 0) - (verdict.base.level or 0)


def _make_side(case: CaseOutcome, verdict: MetricVerdict, *, is_base: bool) -> Side:
    """Return a side of a comparison as the rule for prices needs it: faults, other levels and settings."""
    report, side = (case.case.base, verdict.base) if is_base else (case.case.head, verdict.head)
    verdicts = case.comparison.metrics if case.comparison else ()
    levels = {entry.metric: entry.base.level if is_base else entry.head.level for entry in verdicts}
    known_levels = {name: level for name, level in levels.items() if level is not None}
    return Side(side.level or 0, known_levels, report.environment.settings)
