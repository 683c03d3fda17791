"""The cases of a comparison, each as one line with the metric that matters most; other metrics are folded below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from runner.contract import Verdict
from runner.contract.number_text import format_difference, format_move, format_percent, format_quantity
from service.rules.comparison.compare_stored_runs import ComparedMetric
from service.rules.relative_change import compute_percent_change
from service.web.rendering.change_counts import N_LARGEST, ChangeCounts, LargeChange
from service.web.rendering.comparison_rows import ComparisonRow, build_row, rank_change

Result = Literal["worse", "better", "undecided", "without drift", "same"]


class OtherMetric(NamedTuple):
    """A metric of a case other than the leading one, in one line."""

    title: str
    levels: str
    change: str
    verdict: str
    worse: bool | None
    """Whether it got worse; None if it did not change."""
    series_id: int | None


class ComparedCase(NamedTuple):
    """A case of a comparison on one pair of hosts, or on all of them."""

    metrics: Sequence[ComparedMetric]

    @property
    def leading(self) -> ComparedMetric:
        """The metric that matters most: the largest change of a judged metric."""
        return min(self.metrics, key=rank_change)

    @property
    def result(self) -> Result:
        """The result of the case. A case is worse if any of its judged metrics got worse on any host."""
        judged_metrics = [metric for metric in self.metrics if metric.counts] or list(self.metrics)
        changed_for_worse = [
            is_worse(metric) for metric in judged_metrics if metric.decision.verdict is Verdict.CHANGED
        ]
        if changed_for_worse:
            return "worse" if any(changed_for_worse) else "better"
        undecided_metrics = [metric for metric in judged_metrics if metric.decision.verdict is Verdict.NEEDS_MORE_RUNS]
        if not undecided_metrics:
            return "same"
        return "without drift" if all(metric.is_without_drift for metric in undecided_metrics) else "undecided"

    def build_row(self) -> ComparisonRow:
        """Return the row of the leading metric in full."""
        return build_row(self.leading)

    def list_other_metrics(self) -> list[OtherMetric]:
        """Return the other metrics, each in one line."""
        leading = self.leading
        return [_build_other_metric(metric) for metric in self.metrics if metric is not leading]


def group_cases(rows: Iterable[ComparedMetric], *, by_host: bool) -> list[ComparedCase]:
    """Return the cases of some rows, in the order in which each first appears: for each pair of hosts, or only once."""
    cases: dict[tuple[str, ...], list[ComparedMetric]] = {}
    for row in rows:
        newest_base, newest_head = row.pair.base[0], row.pair.head[0]  # all runs of a side have the same case and host
        hosts = (newest_base.host, newest_head.host) if by_host else ()
        cases.setdefault((newest_head.subject, newest_head.case, *hosts), []).append(row)
    return [ComparedCase(metrics) for metrics in cases.values()]


def count_changes(rows: Sequence[ComparedMetric]) -> ChangeCounts:
    """Return how many cases changed on any host, and the largest changes, each of another case.

    The largest changes are of metrics that count towards the result.
    """
    has_several_hosts = len({row.pair.head[0].host for row in rows}) > 1
    cases = group_cases(rows, by_host=False)
    results = [case.result for case in cases]
    changed_cases = [case.leading for case, result in zip(cases, results, strict=True) if result in {"worse", "better"}]
    largest_changes = sorted(changed_cases, key=rank_change)[:N_LARGEST]
    return ChangeCounts(
        worse=results.count("worse"),
        better=results.count("better"),
        same=results.count("same"),
        without_drift=results.count("without drift"),
        undecided=results.count("undecided"),
        largest=[
            LargeChange(
                worse=is_worse(row),
                size=_describe_change(row),
                case=row.pair.head[0].case,  # the same for all runs of a pair
                series_id=row.head.series or row.base.series,
                host=row.pair.head[0].host if has_several_hosts else "",
            )
            for row in largest_changes
        ],
    )


def is_worse(row: ComparedMetric) -> bool:
    """Return whether a metric that changed got worse."""
    if row.interleaved is not None:
        return row.interleaved.direction == "regression"
    has_grown = (row.head.level or 0) > (row.base.level or 0)
    return has_grown != (row.metric.better == "higher")


def _describe_change(row: ComparedMetric) -> str:
    """Return the change in the metric's unit and in percent; empty if a side has no value."""
    if row.base.level is None or row.head.level is None:
        return ""
    change = row.head.level - row.base.level
    percent = compute_percent_change(change, row.base.level)
    if not change:
        return "0"
    # A difference of two percentages is in points, because the percentage that follows it is relative to base.
    text = format_difference(change, "points" if row.metric.unit == "%" else row.metric.unit)
    return f"{text} ({format_percent(percent)})" if percent is not None else text


def _build_other_metric(row: ComparedMetric) -> OtherMetric:
    """Return a metric other than the leading one, with both of its levels and its change in words."""
    unit, base, head = row.metric.unit, row.base.level, row.head.level
    if base is None or head is None:
        levels = " → ".join("no value" if level is None else format_quantity(level, unit) for level in (base, head))
    else:
        levels = format_move(base, head, unit)
    verdict = row.decision.verdict
    word_of_verdict = {Verdict.CHANGED: "worse" if is_worse(row) else "better", Verdict.SAME: "the same"}
    return OtherMetric(
        title=row.metric.title,
        levels=levels,
        change=_describe_change(row),
        verdict="no drift" if row.is_without_drift else word_of_verdict.get(verdict, "undecided"),
        worse=is_worse(row) if verdict is Verdict.CHANGED else None,
        series_id=row.head.series or row.base.series,
    )
