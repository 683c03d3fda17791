"""The rows of a comparison: in which order they come, and how they are told. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

from runner.contract import MetricVerdict, Verdict
from service.rules.comparison.stored import ComparedMetric
from service.schemas.history import View
from service.web.rendering.formats import Table
from service.web.rendering.metric_order import rank

Sort = Literal["size", "case", "metric"]
_VERDICTS = (Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS, Verdict.SAME)


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


def ordered(rows: Iterable[ComparedMetric], sort: Sort) -> list[ComparedMetric]:
    """Put rows in order."""
    return sorted(rows, key=_SORTS[sort])


def row(one: ComparedMetric) -> ComparisonRow:
    """Tell a row in full."""
    base, head = one.pair.base[0], one.pair.head[0]
    return ComparisonRow(
        subject=head.subject,
        case=head.case,
        title=one.metric.title,
        unit=one.metric.unit,
        host_base=base.host,
        host_head=head.host,
        revision_base=base.revision,
        revision_head=head.revision,
        run_base=base.run_id,
        run_head=head.run_id,
        series_base=one.base.series,
        series_head=one.head.series,
        verdict=one.full_verdict(),
    )


def table(rows: Iterable[ComparedMetric]) -> Table:
    """Return one row for each."""
    columns = (
        *("subject", "case", "host_base", "host_head", "revision_base", "revision_head", "metric", "unit", "verdict"),
        *("base", "base_low", "base_high", "base_samples", "head", "head_low", "head_high", "head_samples"),
        *("change", "percent", "rule", "why"),
    )
    return Table(columns, map(_cells, rows))


def _cells(one: ComparedMetric) -> tuple[object, ...]:
    base, head, told = one.pair.base[0], one.pair.head[0], one.full_verdict()
    return (
        *(head.subject, head.case, base.host, head.host, base.revision, head.revision),
        *(told.metric, one.metric.unit, told.verdict.value),
        *(told.base.level, told.base.low, told.base.high, told.base.n),
        *(told.head.level, told.head.low, told.head.high, told.head.n),
        *(told.change, told.percent, told.rule, told.sentence),
    )


def _size(one: ComparedMetric) -> tuple[Any, ...]:
    """Order by verdict, then by the size of the change: from zero to anything is the largest."""
    return (
        _VERDICTS.index(one.decision.verdict),
        not one.counts,
        -one.size,
        rank(one.metric.name),
        one.pair.head[0].case,
    )


_SORTS = {
    "size": _size,
    "case": lambda one: (one.pair.head[0].case, one.pair.head[0].host, rank(one.metric.name)),
    "metric": lambda one: (rank(one.metric.name), *_size(one)),
}
