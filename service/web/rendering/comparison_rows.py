"""The rows of a comparison: their order, and their JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

from runner.contract import MetricVerdict, Verdict
from service.rules.comparison.compare_stored_runs import ComparedMetric
from service.schemas.history import View
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Table

Sort = Literal["size", "case", "metric"]
_VERDICT_ORDER = {
    verdict: rank for rank, verdict in enumerate((Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS, Verdict.SAME))
}


class ComparisonRow(View):
    """One metric of one case on both sides."""

    subject: str
    case: str
    title: str
    unit: str
    host_base: str
    host_head: str
    revision_base: str
    revision_head: str
    run_base: UUID
    run_head: UUID
    series_base: int | None
    series_head: int | None
    verdict: MetricVerdict


def sort_rows(rows: Iterable[ComparedMetric], sort: Sort) -> list[ComparedMetric]:
    """Return rows sorted by the size of the change, by case or by metric."""
    return sorted(rows, key=_SORT_KEYS[sort])


def build_row(compared_metric: ComparedMetric) -> ComparisonRow:
    """Return the full row of a compared metric, in which the newest run of each side stands for the side."""
    base, head = compared_metric.pair.base[0], compared_metric.pair.head[0]
    return ComparisonRow(
        subject=head.subject,
        case=head.case,
        title=compared_metric.metric.title,
        unit=compared_metric.metric.unit,
        host_base=base.host,
        host_head=head.host,
        revision_base=base.revision,
        revision_head=head.revision,
        run_base=base.run_id,
        run_head=head.run_id,
        series_base=compared_metric.base.series,
        series_head=compared_metric.head.series,
        verdict=compared_metric.build_verdict(),
    )


def build_table(rows: Iterable[ComparedMetric]) -> Table:
    """Return one row for each compared metric."""
    columns = (
        *("subject", "case", "host_base", "host_head", "revision_base", "revision_head", "metric", "unit", "verdict"),
        *("base", "base_low", "base_high", "base_samples", "head", "head_low", "head_high", "head_samples"),
        *("change", "percent", "rule", "sentence"),
    )
    return Table(columns, map(_build_cells, rows))


def _build_cells(compared_metric: ComparedMetric) -> tuple[object, ...]:
    """Return the cells of one compared metric, for CSV; the newest run of each side stands for the side."""
    base, head, verdict = compared_metric.pair.base[0], compared_metric.pair.head[0], compared_metric.build_verdict()
    return (
        *(head.subject, head.case, base.host, head.host, base.revision, head.revision),
        *(verdict.metric, compared_metric.metric.unit, verdict.verdict.value),
        *(verdict.base.level, verdict.base.low, verdict.base.high, verdict.base.n),
        *(verdict.head.level, verdict.head.low, verdict.head.high, verdict.head.n),
        *(verdict.change, verdict.percent, verdict.rule, verdict.sentence),
    )


def rank_change(compared_metric: ComparedMetric) -> tuple[Any, ...]:
    """Return a sort key: by verdict, then metrics that count towards the result first, then the largest change first.

    A suspected change precedes differences without a drift, however large. A change from zero ranks as the largest.
    """
    return (
        _VERDICT_ORDER[compared_metric.decision.verdict],
        not compared_metric.counts,
        compared_metric.is_without_drift,
        -compared_metric.size,
        rank_metric(compared_metric.metric.name),
        compared_metric.pair.head[0].case,  # the same for all runs of a pair
    )


_SORT_KEYS = {
    "size": rank_change,
    "case": lambda compared: (
        compared.pair.head[0].case,
        compared.pair.head[0].host,
        rank_metric(compared.metric.name),
    ),
    "metric": lambda compared: (rank_metric(compared.metric.name), *rank_change(compared)),
}
