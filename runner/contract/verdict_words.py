"""Describes the verdict on one metric, in the same words for the terminal, the comment and the pages."""

from runner.contract.comparison import MetricVerdict, Verdict
from runner.contract.metrics import metric
from runner.contract.number_text import format_quantity


def describe_verdict(verdict: MetricVerdict, *, crept: bool = False, since: str = "") -> str:
    """Return the verdict on a metric in words.

    Parameters
    ----------
    crept
        Whether several small changes together exceed the budget.
    since
        The change since the baseline of those small changes; empty if there is no baseline.
    """
    if not verdict.counts:
        return "not judged"
    if lacks_side(verdict):
        return f"missing in {_describe_missing_sides(verdict)}"
    if verdict.verdict is Verdict.NEEDS_MORE_RUNS:
        return "not decided"
    if verdict.verdict is Verdict.SAME:
        return f"same: {verdict.although}" if verdict.although else "same"
    return "better" if verdict.direction == "improvement" else _describe_regression(verdict, crept, since)


def lacks_side(verdict: MetricVerdict) -> bool:
    """Return whether base or head has no value, so that the verdict's sentence says why."""
    return verdict.rule == "absent" and not (verdict.base.n and verdict.head.n)


def is_prominent(verdict: MetricVerdict, *, crept: bool = False) -> bool:
    """Return whether a reader has to see the verdict first: the gate fails for it, or it could not be judged."""
    return describe_verdict(verdict).startswith("missing") or verdict.over or crept


def _describe_missing_sides(verdict: MetricVerdict) -> str:
    """Return the side without samples. At least one side has none, so equal numbers of samples mean both."""
    if verdict.base.n == verdict.head.n:
        return "base and head"
    return "head" if verdict.base.n else "base"


def _describe_regression(verdict: MetricVerdict, crept: bool, since: str) -> str:
    """Return in words how a change for the worse relates to its budget."""
    budget = (
        verdict.budget
        if isinstance(verdict.budget, str)
        else format_quantity(verdict.budget, metric(verdict.metric).unit)
    )
    if verdict.may_exceed:
        return f"worse, perhaps over the budget of {budget}"
    if verdict.over:
        return f"worse, budget {budget}"
    if crept:
        return f"worse, {since}, budget {budget}"
    return f"worse, within {budget}; {since}" if since else f"worse, within {budget}"
