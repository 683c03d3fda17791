"""The judged series by case, each with its level and its trend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from runner.contract import Case
from service.schemas.history import SeriesSummary
from service.store import overview
from service.store.series import sparklines
from service.store.shared_rows import make_case_key
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, Table, page, read_offset

bp = make_page_blueprint("judged_series")

_SERIES_PER_PAGE = 60


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The judged series of one case."""

    subject: str
    host: str
    case: str
    case_key: str
    series: tuple[SeriesSummary, ...]


@page(bp, "/series")
def index() -> Page:
    """List the judged series, the most recently measured first."""
    offset = read_offset()
    with get_database().reading() as session:
        series, total = overview.list_judged_series(session, _SERIES_PER_PAGE, offset)
        sparkline_of_series = sparklines.read_sparklines(session, [summary.id for summary in series])
    return Page(
        "judged_series.html",
        {
            "cases": _group_series_by_case(series),
            "sparklines": sparkline_of_series,
            "shown": len(series),
            "total": total,
            "offset": offset,
            "limit": _SERIES_PER_PAGE,
        },
        document=lambda: series,
        table=lambda: Table.from_records(
            series,
            *("id", "subject", "host", "case", "metric", "unit"),
            ("points", lambda row: row.n_points),
            "latest",
        ),
    )


def _group_series_by_case(series: Iterable[SeriesSummary]) -> list[CaseTable]:
    """Return a table for each case on each host, with its series by metric."""

    def get_case(summary: SeriesSummary) -> tuple[str, str, str, str]:
        return summary.subject, summary.host, summary.case, summary.definition

    def get_order(summary: SeriesSummary) -> tuple[Any, ...]:
        return get_case(summary), rank_metric(summary.metric)

    tables = []
    for (subject, host, name, _), group in groupby(sorted(series, key=get_order), get_case):
        summaries = tuple(group)
        # All series of a group have the same case.
        key = make_case_key(Case(**summaries[0].model_dump(include={"workload", "definition", "parameters"})))
        tables.append(CaseTable(subject, host, name, key, summaries))
    return tables
