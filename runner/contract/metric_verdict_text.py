"""Describes the verdict on one metric, in the same words for the terminal, the comment and the pages.

The sentence with the reason of the verdict comes from :mod:`service.rules.comparison.metric_decision`.
"""

from collections.abc import Callable, Iterable
from math import comb

from runner.contract.comparison import MetricVerdict, Verdict
from runner.contract.metrics import get_metric
from runner.contract.number_text import (
    format_difference,
    format_level_difference,
    format_move,
    format_percent,
    format_quantity,
)

_MIN_SPLITS = 10_000
"""If the samples of both sides can be split into two sides in at least this many ways, sides that do not overlap are
not attributed to chance. Eight samples per side suffice."""
MIN_CLEAR_PERCENT = 10.0
"""The smallest change for which a metric that is not judged is mentioned."""
_MAX_CLEAR_MOVES = 3
"""The largest number of metrics that one sentence names."""
_NOTICEABLE_METRICS = ("throughput", "elapsed")
"""The metrics that a user notices first. The others follow from them, or explain them."""


def name_metric(name: str, escape_text: Callable[[str], str]) -> str:
    """Return the title of a metric for use within a sentence; for a perf event of a workload file, its name."""
    title = get_metric(name).title
    if title == name:
        return escape_text(name)
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def describe_verdict(verdict: MetricVerdict, *, is_gradual: bool = False, since: str = "") -> str:
    """Return the verdict on a metric in words.

    Parameters
    ----------
    is_gradual
        Whether several small changes together exceed the budget.
    since
        The total change since the baseline, as text; empty if there is no baseline.
    """
    if not verdict.counts:
        return f"not judged, clearly {describe_direction(verdict)}" if has_clearly_moved(verdict) else "not judged"
    if lacks_side(verdict):
        return f"missing in {_describe_missing_sides(verdict)}"
    if verdict.verdict is Verdict.NEEDS_MORE_RUNS:
        return "not decided"
    if verdict.verdict is Verdict.SAME:
        return f"same: {verdict.same_because}" if verdict.same_because else "same"
    return "better" if verdict.direction == "improvement" else _describe_regression(verdict, is_gradual, since)


def has_clearly_moved(verdict: MetricVerdict) -> bool:
    """Return whether a metric that is not judged has changed beyond doubt.

    This is the case if it changed by :data:`MIN_CLEAR_PERCENT` or more and the samples of the two sides do not overlap,
    provided that this is improbable by chance. Metrics in faults and pages are excluded, because judged counts already
    show their changes.
    """
    if verdict.counts:  # It counts for the whole comparison, so it is judged.
        return False
    if verdict.percent is None or abs(verdict.percent) < MIN_CLEAR_PERCENT:
        return False
    if get_metric(verdict.metric).unit in {"faults", "pages"}:  # a part or the sum of counts that are judged
        return False
    # By chance, every way to split the samples into two sides is equally likely, and few keep the sides apart.
    return is_apart(verdict) and comb(verdict.base.n + verdict.head.n, verdict.base.n) >= _MIN_SPLITS


def is_apart(verdict: MetricVerdict) -> bool:
    """Return whether the ranges of the samples of both sides do not overlap."""
    base, head = verdict.base, verdict.head
    if base.low is None or base.high is None or head.low is None or head.high is None:
        return False
    return head.high < base.low or base.high < head.low


def describe_direction(verdict: MetricVerdict) -> str:
    """Return whether a metric that changed is better or worse."""
    has_grown = (verdict.change or 0) > 0
    return "better" if has_grown == (get_metric(verdict.metric).better == "higher") else "worse"


def describe_clear_moves(verdicts: Iterable[MetricVerdict], escape_text: Callable[[str], str] = str) -> str:
    """Return which metrics changed beyond doubt although they are not judged, regressions first; empty if none did.

    ``escape_text`` escapes names and keys from a workload for the medium of the text.
    """
    moved_verdicts = sorted(filter(has_clearly_moved, verdicts), key=_rank_move)[:_MAX_CLEAR_MOVES]
    if not moved_verdicts:
        return ""
    changes = "; ".join(_describe_move(verdict, escape_text) for verdict in moved_verdicts)
    names = ", ".join(f'"{verdict.metric}"' for verdict in moved_verdicts)
    key = escape_text(f"judge = [{names}]")
    return (
        f"Not judged, although every sample of head is outside the range of base's samples: {changes}. "
        f"To have this judged, write {key} in the workload file."
    )


def _rank_move(verdict: MetricVerdict) -> tuple[bool, bool]:
    """Return a sort key for metrics that changed: regressions first, then metrics that a user notices."""
    return describe_direction(verdict) == "better", verdict.metric not in _NOTICEABLE_METRICS


def _describe_move(verdict: MetricVerdict, escape_text: Callable[[str], str]) -> str:
    unit, base, head = get_metric(verdict.metric).unit, verdict.base, verdict.head
    levels = format_move(base.level or 0, head.level or 0, unit)
    return f"{escape_text(verdict.metric)} is {describe_direction(verdict)}, {levels}"


def lacks_side(verdict: MetricVerdict) -> bool:
    """Return whether base or head has no value, which the verdict in words then explains."""
    return verdict.rule == "absent" and not (verdict.base.n and verdict.head.n)


def is_prominent(verdict: MetricVerdict, *, is_gradual: bool = False) -> bool:
    """Return whether a verdict must be shown first, because it exceeds the budget, or because a side has no value."""
    is_missing = verdict.counts and lacks_side(verdict)
    return is_missing or verdict.over_budget or is_gradual


def _describe_missing_sides(verdict: MetricVerdict) -> str:
    """Return which sides lack samples. At least one does, so if the numbers of samples are equal, both do."""
    if verdict.base.n == verdict.head.n:
        return "base and head"
    return "head" if verdict.base.n else "base"


def _describe_regression(verdict: MetricVerdict, is_gradual: bool, since: str) -> str:
    """Return in words whether a regression exceeds its budget; for the parameters, see :func:`describe_verdict`."""
    if isinstance(verdict.budget, str):  # a percentage, or "none"
        budget = verdict.budget
    else:
        budget = format_quantity(verdict.budget, get_metric(verdict.metric).unit)
    if verdict.may_exceed:
        return f"worse, perhaps over the budget of {budget}"
    if verdict.over_budget:
        return f"worse, budget {budget}"
    if is_gradual:  # Only the total change since the baseline exceeds the budget.
        return f"worse, {since}, budget {budget}"
    return f"worse, within {budget}; {since}" if since else f"worse, within {budget}"


def format_change(verdict: MetricVerdict) -> str:
    """Return a change in the metric's unit and, unless the base is zero, in percent."""
    if verdict.change is None:
        return "–"
    if not verdict.change:
        return "0"
    unit = get_metric(verdict.metric).unit
    before, after = verdict.base.level, verdict.head.level
    if unit == "%":  # A difference of two percentages is in points: the percentage that follows it is relative to base.
        text = format_difference(verdict.change, "points")
    elif verdict.changed_pairs is not None or before is None or after is None:
        text = format_difference(verdict.change, unit)
    else:
        text = format_level_difference(before, after, unit)
    text = text if verdict.percent is None else f"{text} ({format_percent(verdict.percent)})"
    if verdict.changed_pairs is None:
        return text
    return f"{text} in {verdict.changed_pairs} of {min(verdict.base.n, verdict.head.n)} executions"
