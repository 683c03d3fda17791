"""The formats of a page: the same address answers people with HTML, and programs with JSON or CSV.

``/hosts.json`` and ``/hosts.csv`` lie beside ``/hosts``; a program that asks ``/hosts`` itself by its ``Accept`` header
gets the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, render_template, request
from pydantic import TypeAdapter

from service.text.csv_cells import escape_cells
from service.text.moments import format_moment
from service.web.rendering import not_modified

_JSON_WRITER: TypeAdapter[Any] = TypeAdapter(Any)
_MEDIA_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}

MAX_OFFSET = 2**31
"""The most entries of a list that a page can skip: no list is as long, and the database can store the number."""

PageView = TypeVar("PageView", bound=Callable[..., "Page"])
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for a spreadsheet."""

    columns: Sequence[str]
    rows: Iterable[Sequence[object]]

    @classmethod
    def from_records(cls, records: Iterable[Record], *columns: str | tuple[str, Callable[[Record], object]]) -> Table:
        """Return a row for each record.

        Parameters
        ----------
        columns
            The field of the same name, or a name and what computes the cell.
        """
        named_columns = [column if isinstance(column, tuple) else (column, attrgetter(column)) for column in columns]
        rows = ([cell(record) for _, cell in named_columns] for record in records)
        return cls([name for name, _ in named_columns], rows)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page answers, in each format.

    Attributes
    ----------
    template, context
        The HTML document.
    document
        Makes the JSON document.
    table
        Makes the main table of the page, as CSV.
    """

    template: str
    context: Mapping[str, Any]
    document: Callable[[], object]
    table: Callable[[], Table]


def page(bp: Blueprint, rule: str, formats_rule: str | None = None) -> Callable[[PageView], PageView]:
    """Route a view that returns a :class:`Page`; JSON and CSV get the same address with `.json` or `.csv`.

    Parameters
    ----------
    bp, rule
        Blueprint and rule of the page.
    formats_rule
        Rule that `.json` and `.csv` are added to, where they cannot be added to the page's own.
    """

    def decorate(view: PageView) -> PageView:
        """Add the rules of a view to the blueprint; the view itself stays as it is."""

        def answer(extension: str = "html", **variables: Any) -> Response:
            """Return the page in the format of the address, or, without an extension, in the one that is preferred."""
            output_format = extension if extension != "html" else read_requested_format()
            etag = not_modified.find_current_etag()
            unchanged = not_modified.answer_unchanged(etag)
            return unchanged or not_modified.make_cacheable(_render_page(view(**variables), output_format), etag)

        endpoint = view.__name__
        bp.add_url_rule(rule, endpoint, answer)
        for extension in ("json", "csv"):
            bp.add_url_rule(
                f"{formats_rule or rule}.{extension}",
                f"{endpoint}_{extension}",
                answer,
                defaults={"extension": extension},
            )
        return view

    return decorate


def read_requested_format() -> str:
    """Return the format that the request's Accept header prefers: ``html``, ``json`` or ``csv``."""
    media_type = request.accept_mimetypes.best_match(list(_MEDIA_TYPES.values()), default="text/html")
    return next(format_ for format_, kind in _MEDIA_TYPES.items() if kind == media_type)


def list_format_addresses() -> dict[str, str]:
    """Return the addresses of the page that is shown as ``json`` and ``csv``, with its query."""
    if request.endpoint is None or f"{request.endpoint}_json" not in current_app.view_functions:
        return {}
    path = request.path if request.path != "/" else "/overview"  # ".json" cannot be added to a path that is only "/"
    query = request.query_string.decode("ascii", "replace")
    return {format_: f"{path}.{format_}" + (f"?{query}" if query else "") for format_ in ("json", "csv")}


def read_offset() -> int:
    """Return how many entries of a list the requested page skips; 0 if the address does not say."""
    return min(max(request.args.get("offset", 0, int), 0), MAX_OFFSET)


def build_current_address(**changes: object) -> str:
    """Return the address of the page that is shown, with some parameters of its query changed."""
    query = request.args.to_dict() | {name: str(value) for name, value in changes.items()}
    return f"{request.path}?{urlencode(query)}"


def write_csv(table: Table) -> str:
    """Write a table as CSV (RFC 4180). A text that a spreadsheet would run as a formula begins with an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows(
        escape_cells(format_moment(value) if isinstance(value, datetime) else value for value in row)
        for row in table.rows
    )
    return text.getvalue()


def _render_page(page_: Page, output_format: str) -> Response:
    """Return a page as HTML, JSON or CSV."""
    if output_format == "json":
        response = Response(_JSON_WRITER.dump_json(page_.document()), mimetype=_MEDIA_TYPES[output_format])
    elif output_format == "csv":
        response = Response(write_csv(page_.table()), mimetype=_MEDIA_TYPES[output_format])
    else:
        response = Response(render_template(page_.template, **page_.context), mimetype=_MEDIA_TYPES[output_format])
    return response
