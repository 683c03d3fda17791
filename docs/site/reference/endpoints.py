"""Every address of the service: the API from its OpenAPI document, the pages from the routes."""

from __future__ import annotations

import inspect
import re
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from apiflask import APIFlask
from werkzeug.routing import Rule

from docs.site.reference.markdown import code, plain, table
from service.app import create_app
from service.config.settings import Config
from service.rules.access.scope import find_needed_scope
from service.web import app_resources


@cache
def application() -> APIFlask:
    """Return the service's application; its database is gone already."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-docs-") as home:
        app = create_app(Config(home=Path(home), database_url=f"sqlite:///{home}/faultwatch.db"))
        with app.app_context():
            app_resources.get_database().close()
    return app


def endpoints() -> str:
    """Return a section for each noun of the API, with its operations."""
    groups: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    scopes = {(_documented(rule.rule), method): scope for rule, method, scope in _routes()}
    for path, operations in sorted(application().spec["paths"].items()):
        for method, operation in operations.items():
            noun = path.removeprefix("/api/v1/").partition("/")[0]
            groups[noun].append(
                (
                    code(f"{method.upper()} {path}"),
                    plain(" ".join(filter(None, (operation.get("summary"), operation.get("description"))))),
                    _sent(operation),
                    scopes[path, method.upper()],
                )
            )
    head = ("request", "what it does", "query or body", "scope")
    return "\n".join(f"### {code(noun)}\n\n{table(head, rows)}" for noun, rows in sorted(groups.items()))


def pages() -> str:
    """Return a table of all other addresses: the pages, and what programs ask beside the API."""
    rows = []
    paths = {rule.rule for rule in application().url_map.iter_rules()}
    for rule, method, scope in _routes():
        if not rule.rule.startswith("/api/") and not rule.rule.endswith((".json", ".csv")):
            view = application().view_functions[rule.endpoint]
            formats = " Also with `.json` and `.csv`." if method == "GET" and f"{rule.rule}.csv" in paths else ""
            what = (_first_line(view) or "A page.") + formats
            rows.append((code(f"{method} {_documented(rule.rule)}"), plain(what), scope))
    return table(("request", "what it does", "scope"), sorted(rows, key=lambda row: row[0].split(" ", 1)[1]))


def _routes() -> list[tuple[Rule, str, str]]:
    """Return each route with each of its methods and the scope that it needs."""
    return [
        (rule, method, find_needed_scope(rule.endpoint, method) or "none")
        for rule in application().url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def _documented(rule: str) -> str:
    """Return the path of a route as OpenAPI writes it."""
    return re.sub(r"<(?:[^:<>]*(?:\([^)]*\))?:)?(\w+)>", r"{\1}", rule)


def _sent(operation: dict[str, Any]) -> str:
    names = [code(parameter["name"]) for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    for media in operation.get("requestBody", {}).get("content", {}).values():
        reference = media["schema"].get("$ref", "")
        names.append(code(reference.rpartition("/")[2]) if reference else "a list")
    return ", ".join(names)


def _first_line(view: Any) -> str:
    return (inspect.getdoc(view) or "").partition("\n")[0]
