"""Words the verdict of a gate as one sentence, short enough for a phone. Pure."""

from __future__ import annotations

from collections.abc import Callable

from runner.contract import MetricVerdict, metric
from service.rules.gate.verdict import GateOutcome, GateState, MetricOutcome
from service.text.numbers import difference, percent

Show = Callable[[str], str]
"""Escapes text from a repository."""


def verdict(outcome: GateOutcome, show: Show) -> str:
    """Return the verdict as one sentence that names the worst case."""
    return f"{_sentence(outcome, show)}{_acceptance(outcome, show)}"


def _sentence(outcome: GateOutcome, show: Show) -> str:
    state, cases = outcome.state, outcome.cases
    worst = next((case for case in cases if case.state is state), None)
    if worst is None:
        return "There was nothing to measure."
    others = _others(sum(case.state is state for case in cases) - 1, "case")
    if state in {GateState.HEAD_FAILED, GateState.BASE_FAILED} and worst.failed:
        side, failure = worst.failed
        what = {"build": "does not build", "run": "does not run to its end"}.get(failure.stage, "was not measured")
        tail = "" if side == "head" else ", so there is nothing to compare with"
        return f"The {side} {what}{tail}: {show(worst.name)}{others}."
    if state is GateState.UNDECIDED:
        return f"Not decided: {show(worst.name)}{others} would need more runs.{_other_changes(outcome)}"
    if state is GateState.SAME:
        return f"No change in {_count(len(cases), 'case')}."
    row = next(outcome.changed_metrics())
    if state is GateState.CREPT:
        step, budget = change(row.metric_verdict), row.metric_verdict.budget
        where = f"{show(row.case)} ({metric_name(row.metric_verdict, show)})"
        return f"Worse step by step: {since(row)} in {where}; {step} is within the budget of {budget}."
    others = _others(sum(1 for _ in outcome.changed_metrics()) - 1, "change")
    lead = {GateState.OVER: "Worse", GateState.WITHIN: "Worse, within budget", GateState.BETTER: "Better"}[state]
    return f"{lead}: {_row(row, show)}{others}."


def since(row: MetricOutcome) -> str:
    """Return the change since the baseline; an empty text where the row has none."""
    if row.baseline is None or row.metric_verdict.head.level is None:
        return ""
    total = row.metric_verdict.head.level - row.baseline.level
    percent = 100 * total / abs(row.baseline.level) if row.baseline.level else None
    since_baseline = row.metric_verdict.model_copy(update={"change": total, "percent": percent})
    return f"{change(since_baseline)} since {row.baseline.commit[:10]}"


def _row(row: MetricOutcome, show: Show) -> str:
    return f"{change(row.metric_verdict)} in {show(row.case)} ({metric_name(row.metric_verdict, show)})"


def _other_changes(outcome: GateOutcome) -> str:
    changed = sum(1 for _ in outcome.changed_metrics())
    return f" {_count(changed, 'metric')} changed." if changed else ""


def _acceptance(outcome: GateOutcome, show: Show) -> str:
    if outcome.accepted is None or outcome.state not in {GateState.OVER, GateState.CREPT}:
        return ""
    reason = f": {show(outcome.accepted.reason)}" if outcome.accepted.reason else ""
    return f" Accepted by {show(outcome.accepted.by)}{reason}."


def metric_name(verdict: MetricVerdict, show: Show) -> str:
    """Return the title of a metric in the catalogue, or the name that a workload file gave it."""
    title = metric(verdict.metric).title
    return title[:1].lower() + title[1:] if title != verdict.metric else show(verdict.metric)


def change(verdict: MetricVerdict) -> str:
    """Return a change in the metric's unit and, unless the base is zero, in percent."""
    if verdict.change is None:
        return "–"
    if not verdict.change:
        return "0"
    unit = metric(verdict.metric).unit
    shown = difference(verdict.change, "points" if unit == "%" else unit)
    return shown if verdict.percent is None else f"{shown} ({percent(verdict.percent)})"


def _others(count: int, noun: str) -> str:
    return f", and {count} other {noun}{'s' if count != 1 else ''}" if count > 0 else ""


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
