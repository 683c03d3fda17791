"""A verdict in a sentence that reads well on a phone. Pure."""

from __future__ import annotations

from collections.abc import Callable

from runner.contract import MetricVerdict, metric
from service.rules.gate.verdict import Finding, Row, State
from service.text.numbers import difference, percent

Show = Callable[[str], str]
"""How the text of a repository is written."""


def verdict(finding: Finding, show: Show) -> str:
    """Return the verdict as one sentence, with what is worst by name."""
    return f"{_said(finding, show)}{_accepted(finding, show)}"


def _said(finding: Finding, show: Show) -> str:
    state, cases = finding.state, finding.cases
    worst = next((one for one in cases if one.state is state), None)
    if worst is None:
        return "There was nothing to measure."
    others = _others(sum(one.state is state for one in cases) - 1, "case")
    if state in {State.HEAD_FAILED, State.BASE_FAILED} and worst.failed:
        side, failure = worst.failed
        what = {"build": "does not build", "run": "does not run to its end"}.get(failure.stage, "was not measured")
        tail = "" if side == "head" else ", so there is nothing to compare with"
        return f"The {side} {what}{tail}: {show(worst.name)}{others}."
    if state is State.UNDECIDED:
        return f"Not decided: {show(worst.name)}{others} would need more runs.{_beside(finding)}"
    if state is State.SAME:
        return f"No change in {_count(len(cases), 'case')}."
    row = next(finding.changed())
    if state is State.CREPT:
        where, budget = f"{show(row.case)} ({metric_name(row.one, show)})", row.one.budget
        return f"Worse step by step: {since(row)} in {where}; {change(row.one)} is within the budget of {budget}."
    beside = _others(sum(1 for _ in finding.changed()) - 1, "change")
    lead = {State.OVER: "Worse", State.WITHIN: "Worse, within budget", State.BETTER: "Better"}[state]
    return f"{lead}: {_row(row, show)}{beside}."


def since(row: Row) -> str:
    """Return the change since the baseline; nothing where none was looked up."""
    if row.since is None or row.one.head.level is None:
        return ""
    whole = row.one.head.level - row.since.level
    percent = 100 * whole / abs(row.since.level) if row.since.level else None
    return f"{change(row.one.model_copy(update={'change': whole, 'percent': percent}))} since {row.since.commit[:10]}"


def _row(row: Row, show: Show) -> str:
    return f"{change(row.one)} in {show(row.case)} ({metric_name(row.one, show)})"


def _beside(finding: Finding) -> str:
    changed = sum(1 for _ in finding.changed())
    return f" {_count(changed, 'change')} beside that." if changed else ""


def _accepted(finding: Finding, show: Show) -> str:
    if finding.accepted is None or finding.state not in {State.OVER, State.CREPT}:
        return ""
    reason = f": {show(finding.accepted.reason)}" if finding.accepted.reason else ""
    return f" Accepted by {show(finding.accepted.by)}{reason}."


def metric_name(one: MetricVerdict, show: Show) -> str:
    """Return a metric as the catalogue calls it, or the name that a workload file gave it."""
    known = metric(one.metric)
    return known.title[:1].lower() + known.title[1:] if known.title != one.metric else show(one.metric)


def change(one: MetricVerdict) -> str:
    """Return a change in the metric's unit and in percent; of nothing there is no percent."""
    if one.change is None:
        return "–"
    if not one.change:
        return "0"
    unit = metric(one.metric).unit
    shown = difference(one.change, "points" if unit == "%" else unit)
    return shown if one.percent is None else f"{shown} ({percent(one.percent)})"


def _others(count: int, noun: str) -> str:
    return f", and {count} other {noun}{'s' if count != 1 else ''}" if count > 0 else ""


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
