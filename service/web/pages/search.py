"""The search box, which finds commits, cases, hosts, environments and settings."""

from __future__ import annotations

from flask import request, url_for

from service.schemas.directory import Hit
from service.store import text_search
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("search")

_MAX_QUERY_CHARACTERS = 200
_BUILD_ADDRESS_OF_KIND = {
    "run": lambda key: url_for("run.show", run_id=key),
    "host": lambda key: url_for("hosts.show", name=key),
    "case": lambda key: url_for("workloads.case", key=key),
    "environment": lambda key: url_for("environments.show", environment=key),
    "revision": lambda key: url_for("run.index", revision=key),
}


@page(bp, "/search")
def show() -> Page:
    """Show the results of a search."""
    text = request.args.get("q", "").strip()[:_MAX_QUERY_CHARACTERS]
    with get_database().reading() as session:
        results = [
            Hit(
                kind=result.kind,
                title=result.title,
                detail=result.details,
                url=_BUILD_ADDRESS_OF_KIND[result.kind](result.key),
            )
            for result in text_search.search_text(session, text)
        ]
    return Page(
        "search.html",
        {"text": text, "hits": results},
        document=lambda: results,
        table=lambda: Table.from_records(results, "kind", "title", "detail", "url"),
    )
