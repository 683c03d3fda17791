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

from docs.site.reference.markdown import format_code, format_plain, format_table
from service.app import create_app
from service.config.settings import Config
from service.rules.access.scope import find_needed_scope
from service.web import app_resources


@cache
def get_application() -> APIFlask:
    """Return the service's application; its database is gone already."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-docs-") as home:
        app = create_app(Config(home=Path(home), database_url=f"sqlite:///{home}/faultwatch.db"))
        with app.app_context():
            app_resources.get_database().close()
    return app


def build_endpoint_sections() -> str:
    """Return a section for each noun of the API, with its operations."""
    groups: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    scopes = {(_convert_path(rule.rule), method): scope for rule, method, scope in _list_routes()}
    for path, operations in sorted(get_application().spec["paths"].items()):
        for method, operation in operations.items():
            noun = path.removeprefix("/api/v1/").partition("/")[0]
            groups[noun].append(
                (
                    format_code(f"{method.upper()} {path}"),
                    format_plain(" ".join(filter(None, (operation.get("summary"), operation.get("description"))))),
                    _describe_input(operation),
                    scopes[path, method.upper()],
                )
            )
    head = ("request", "what it does", "query or body", "scope")
    return "\n".join(f"### {format_code(noun)}\n\n{format_table(head, rows)}" for noun, rows in sorted(groups.items()))


def build_page_table() -> str:
    """Return a table of all other addresses: the pages, and what programs ask beside the API."""
    rows = []
    paths = {rule.rule for rule in get_application().url_map.iter_rules()}
    for rule, method, scope in _list_routes():
        if not rule.rule.startswith("/api/") and not rule.rule.endswith((".json", ".csv")):
            view = get_application().view_functions[rule.endpoint]
            formats = " Also with `.json` and `.csv`." if method == "GET" and f"{rule.rule}.csv" in paths else ""
            what = (_get_first_line(view) or "A page.") + formats
            rows.append((format_code(f"{method} {_convert_path(rule.rule)}"), format_plain(what), scope))
    return format_table(("request", "what it does", "scope"), sorted(rows, key=lambda row: row[0].split(" ", 1)[1]))


def _list_routes() -> list[tuple[Rule, str, str]]:
    """Return each route with each of its methods and the scope that it needs."""
    return [
        (rule, method, find_needed_scope(rule.endpoint, method) or "none")
        for rule in get_application().url_map.iter_rules()
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def _convert_path(rule: str) -> str:
    """Return the path of a route as OpenAPI writes it."""
    return re.sub(r"<(?:[^:<>]*(?:\([^)]*\))?:)?(\w+)>", r"{\1}", rule)


def _describe_input(operation: dict[str, Any]) -> str:
    names = [
        format_code(parameter["name"]) for parameter in operation.get("parameters", ()) if parameter["in"] == "query"
    ]
    for media in operation.get("requestBody", {}).get("content", {}).values():
        reference = media["schema"].get("$ref", "")
        names.append(format_code(reference.rpartition("/")[2]) if reference else "a list")
    return ", ".join(names)


def _get_first_line(view: Any) -> str:
    return (inspect.getdoc(view) or "").partition("\n")[0]
