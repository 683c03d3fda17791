"""Defines faults, rules and metrics, for people who read a comment or a chart for the first time."""

from __future__ import annotations

from runner.contract.metrics import CATALOGUE
from service.rules.series.detection_rules import DETECTION_RULES
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("definitions")


@page(bp, "/definitions")
def show() -> Page:
    """Define page faults, the rules of drifts and all metrics. No token is needed: the page has no measurements."""
    metrics = list(CATALOGUE.values())
    return Page(
        "definitions.html",
        {"metrics": metrics, "rules": DETECTION_RULES},
        document=lambda: [
            {
                "name": entry.name,
                "title": entry.title,
                "unit": entry.unit,
                "kind": entry.kind,
                "better": entry.better,
                "judged": entry.judged,
                "definition": entry.definition,
            }
            for entry in metrics
        ],
        table=lambda: Table.from_records(metrics, "name", "title", "unit", "kind", "better", "judged", "definition"),
    )
