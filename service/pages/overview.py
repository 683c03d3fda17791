"""The overview: what moved, where everything stands, and what could not be measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from flask import Blueprint

from service.pages.events import events
from service.pages.order import rank
from service.pages.source import Glance, source
from service.pages.sparkline import Sparkline, sparkline
from service.pages.tables import drift_table
from service.pages.twins import Page, page
from service.views import RunSummary

bp = Blueprint("overview", __name__)


@dataclass(frozen=True, slots=True)
class Row:
    """One series in the table."""

    glance: Glance
    line: Sparkline | None


@dataclass(frozen=True, slots=True)
class CaseTable:
    """All series of one case: first those that are judged, then the rest."""

    subject: str
    host: str
    case: str
    judged: tuple[Row, ...]
    others: tuple[Row, ...]


@page(bp, "/", twins="/overview")
def show() -> Page:
    """Show the overview."""
    glances = source().glances()
    lines = {glance.series.id: sparkline(glance.values, glance.flagged) for glance in glances}
    drifts = source().drifts()
    failures, quarantined = source().failures(), source().quarantined()
    return Page(
        "overview.html",
        {
            "drifts": drifts,
            "events": events(drifts.items),
            "lines": lines,
            "cases": _cases(glances, lines),
            "failures": _by_revision(failures),
            "quarantined": quarantined,
        },
        document=lambda: {"drifts": drifts.items, "not_measured": failures, "quarantined": quarantined},
        table=lambda: drift_table(drifts.items),
    )


def _cases(glances: Iterable[Glance], lines: dict[int, Sparkline | None]) -> list[CaseTable]:
    def key(glance: Glance) -> tuple[str, str, str, str]:
        series = glance.series
        return series.subject, series.host, series.case, series.definition

    tables = []
    for (subject, host, case, _), group in groupby(sorted(glances, key=key), key):
        ordered = sorted(group, key=lambda glance: rank(glance.series.metric))
        rows = [Row(glance, lines[glance.series.id]) for glance in ordered]
        judged = tuple(row for row in rows if row.glance.series.judged)
        others = tuple(row for row in rows if not row.glance.series.judged)
        tables.append(CaseTable(subject, host, case, judged, others))
    return tables


def _by_revision(failures: Iterable[RunSummary]) -> list[list[RunSummary]]:
    """Put the cases that failed at one revision together: a build that breaks, breaks for all of them."""
    groups: dict[tuple[str, str, str], list[RunSummary]] = {}
    for run in failures:
        message = run.failure.message if run.failure else ""
        groups.setdefault((run.subject, run.revision, message), []).append(run)
    return list(groups.values())
