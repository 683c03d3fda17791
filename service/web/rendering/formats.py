"""A page and its twins: the same address answers people with HTML, and programs with JSON or CSV.

``/hosts.json`` and ``/hosts.csv`` lie beside ``/hosts``; a program that asks ``/hosts`` itself by its ``Accept`` header
gets the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, render_template, request
from pydantic import TypeAdapter

from service.web.rendering import not_modified

_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}

View = TypeVar("View", bound=Callable[..., "Page"])


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for a spreadsheet."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows.

    Attributes
    ----------
    template, context
        How people see it.
    document
        The same for programs.
    table
        Its main table.
    """

    template: str
    context: Mapping[str, Any]
    document: Callable[[], object]
    table: Callable[[], Table]


def page(bp: Blueprint, rule: str, twins: str | None = None) -> Callable[[View], View]:
    """Route a view that returns a :class:`Page`, with its twins at the same address and `.json` or `.csv`.

    Parameters
    ----------
    bp, rule
        Blueprint and rule of the page.
    twins
        Rule of the twins, where the page's own cannot be lengthened.
    """

    def decorate(view: View) -> View:
        def answer(form: str = "html", **given: Any) -> Response:
            asked = form if form != "html" else negotiated()
            mark = not_modified.tag()
            return not_modified.held(mark) or not_modified.marked(_answer(view(**given), asked), mark)

        endpoint = view.__name__
        bp.add_url_rule(rule, endpoint, answer)
        for form in ("json", "csv"):
            bp.add_url_rule(f"{twins or rule}.{form}", f"{endpoint}_{form}", answer, defaults={"form": form})
        return view

    return decorate


def negotiated() -> str:
    """Return the form that the request's Accept header asks for; people's, where it does not care."""
    best = request.accept_mimetypes.best_match(list(_TYPES.values()), default="text/html")
    return next(form for form, kind in _TYPES.items() if kind == best)


def twin_addresses() -> dict[str, str]:
    """Return the addresses of the twins of the page that is shown, with its query."""
    if request.endpoint is None or f"{request.endpoint}_json" not in current_app.view_functions:
        return {}
    path = request.path if request.path != "/" else "/overview"
    query = request.query_string.decode("ascii", "replace")
    return {form: f"{path}.{form}" + (f"?{query}" if query else "") for form in ("json", "csv")}


def address_with(**changes: object) -> str:
    """Return the address of the page that is shown, with another value of some of its query's names."""
    query = request.args.to_dict() | {name: str(value) for name, value in changes.items()}
    return f"{request.path}?{urlencode(query)}"


def comma_separated(table: Table) -> str:
    """Write a table as CSV (RFC 4180). A text that a spreadsheet would run as a formula is led by an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return text.getvalue()


def _answer(made: Page, form: str) -> Response:
    if form == "json":
        response = Response(_ANYTHING.dump_json(made.document()), mimetype=_TYPES[form])
    elif form == "csv":
        response = Response(comma_separated(made.table()), mimetype=_TYPES[form])
    else:
        response = Response(render_template(made.template, **made.context), mimetype=_TYPES[form])
    return response


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
