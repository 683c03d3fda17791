"""The formats of a page: the same view serves HTML to people, and JSON or CSV to programs.

``/hosts.json`` and ``/hosts.csv`` accompany ``/hosts``. A program can also request ``/hosts`` itself, and choose the
format with its ``Accept`` header.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from flask import Blueprint, Response, current_app, render_template, request
from pydantic import TypeAdapter
from werkzeug.exceptions import NotFound

from service.text.csv_cells import escape_cells
from service.text.moments import format_moment
from service.web.problems import ProblemError
from service.web.rendering import not_modified

_JSON_WRITER: TypeAdapter[Any] = TypeAdapter(Any)
_MEDIA_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}

MAX_OFFSET = 2**31
"""The largest accepted offset: no list is as long, and the database can still represent the number."""

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
            The columns: each is the name of a field, or a name and the function that computes the cell.
        """
        named_columns = [column if isinstance(column, tuple) else (column, attrgetter(column)) for column in columns]
        rows = ([cell(record) for _, cell in named_columns] for record in records)
        return cls([name for name, _ in named_columns], rows)


@dataclass(frozen=True, slots=True)
class Page:
    """The answer of a page, in each format.

    Attributes
    ----------
    template, context
        The template of the HTML document, and its context.
    document
        Returns the content of the JSON document.
    table
        Returns the main table of the page, for CSV.
    """

    template: str
    context: Mapping[str, Any]
    document: Callable[[], object]
    table: Callable[[], Table]


def page(bp: Blueprint, rule: str, formats_rule: str | None = None) -> Callable[[PageView], PageView]:
    """Route a view that returns a :class:`Page`; JSON and CSV get the same address with `.json` or `.csv`.

    If the requested name does not exist without its ending, but exists with it, as a case named `simple.json` does, the
    answer is the HTML page of that name.

    Parameters
    ----------
    bp, rule
        The blueprint and the rule of the page.
    formats_rule
        The rule to which `.json` and `.csv` are appended, if they cannot be appended to ``rule``.
    """
    # The variable at the end of the rule, such as "name" for "/hosts/<name>" or "run_id" for "/runs/<uuid:run_id>".
    last_variable = rule.rpartition("<")[2].rpartition(":")[2].removesuffix(">") if rule.endswith(">") else ""

    def decorate(view: PageView) -> PageView:
        """Add the rules of a view to the blueprint, and return the view unchanged."""

        def answer(extension: str = "html", **variables: Any) -> Response:
            """Return the page in the format of the address's extension, or else in the format that Accept prefers."""
            etag = not_modified.find_current_etag()
            unchanged = not_modified.build_not_modified_response(etag)
            if unchanged:
                return unchanged
            try:
                built_page = view(**variables)
            except (NotFound, ProblemError) as error:
                # What looks like a format may be the end of a name: /subjects/simple.json can be that of simple.json.
                name = variables.get(last_variable)
                if extension == "html" or not isinstance(name, str) or not _is_not_found(error):
                    raise
                try:
                    built_page = view(**variables | {last_variable: f"{name}.{extension}"})
                except (NotFound, ProblemError):
                    raise error from None
                extension = "html"
            output_format = extension if extension != "html" else read_requested_format()
            return not_modified.make_response_cacheable(_render_page(built_page, output_format), etag)

        answer.__doc__ = view.__doc__  # the reference of addresses describes each page by this text
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


def _is_not_found(error: NotFound | ProblemError) -> bool:
    return isinstance(error, NotFound) or error.status == HTTPStatus.NOT_FOUND


def read_requested_format() -> str:
    """Return the format that the request's Accept header prefers: ``html``, ``json`` or ``csv``."""
    media_type = request.accept_mimetypes.best_match(list(_MEDIA_TYPES.values()), default="text/html")
    return next(name for name, kind in _MEDIA_TYPES.items() if kind == media_type)


def list_format_addresses() -> dict[str, str]:
    """Return the addresses of the current page, with its query, in the formats ``json`` and ``csv``."""
    if request.endpoint is None or f"{request.endpoint}_json" not in current_app.view_functions:
        return {}
    path = quote(request.path) if request.path != "/" else "/overview"  # "/.json" would be no valid address
    query = request.query_string.decode("ascii", "replace")
    return {name: f"{path}.{name}" + (f"?{query}" if query else "") for name in ("json", "csv")}


def read_offset() -> int:
    """Return how many entries of a list the requested page skips; 0 by default."""
    return min(max(request.args.get("offset", 0, int), 0), MAX_OFFSET)


def build_current_address(**changes: object) -> str:
    """Return the address of the current page, with some parameters of its query changed."""
    query = request.args.to_dict(flat=False) | {name: [str(value)] for name, value in changes.items()}
    return f"{quote(request.path)}?{urlencode(query, doseq=True)}"


def format_csv(table: Table) -> str:
    """Return a table as CSV (RFC 4180), with an apostrophe before texts that a spreadsheet would run as formulas."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows(
        escape_cells(format_moment(value) if isinstance(value, datetime) else value for value in row)
        for row in table.rows
    )
    return text.getvalue()


def _render_page(built_page: Page, output_format: str) -> Response:
    """Return a page as HTML, JSON or CSV."""
    if output_format == "json":
        response = Response(_JSON_WRITER.dump_json(built_page.document()), mimetype=_MEDIA_TYPES[output_format])
    elif output_format == "csv":
        response = Response(format_csv(built_page.table()), mimetype=_MEDIA_TYPES[output_format])
    else:
        response = Response(
            render_template(built_page.template, **built_page.context), mimetype=_MEDIA_TYPES[output_format]
        )
    return response
