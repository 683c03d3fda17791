"""The drift map: all drifts in one picture, on the first page, on pages of its own, and as an SVG file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path

from flask import Response, render_template
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from service.rules.drift_map import layout
from service.rules.drift_map.columns import divide_history
from service.rules.drift_map.layout import Cell, DriftMap, Row
from service.rules.drift_map.unmoved_settings import count_unmoved_changes
from service.schemas.history import View
from service.store import drift_map, shared_rows
from service.store.drift_map import MapEvent
from service.store.engine.versioned_cache import VersionedCache
from service.web.access import authorization
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database
from service.web.charts.drift_map import (
    FULL_SIZE,
    DrawnMap,
    LabelledDrift,
    MapSize,
    NamedEvents,
    choose_labelled_drifts,
    choose_linked_cells,
    draw_map,
    list_linked_events,
)
from service.web.pages.error_pages import make_page_blueprint
from service.web.problems import ProblemError
from service.web.rendering import not_modified
from service.web.rendering.escape_for_pages import escape_invisible_characters
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("drift_map")

_MAX_COLUMNS = 60
"""Largest number of columns that can be told apart on a phone."""
_MAX_IMPORTANT_EVENTS = 3
_MAX_SECONDS = 30.0
"""How long a drawn map is cached: new commits and prices change the map, but not the version in its cache key."""
_drawn_maps: VersionedCache[DrawnMap | None] = VersionedCache(100, lambda _: 1, _MAX_SECONDS)
_STATIC_FOLDER = Path(__file__).resolve().parents[1] / "static"


class MapCell(View):
    """The changes of one case in one column of the map."""

    subject: str
    workload: str
    case: str
    """The case; empty for the row that combines all cases without a row of their own."""
    column: int
    since: str
    """The start of the column's period in UTC, or the time of its commit."""
    commit: str | None
    """The commit of the column; None if the column is a period."""
    drifts: int
    worse: float | None
    """The factor between the levels before and after the largest regression; None if there is none."""
    better: float | None
    certain: bool
    """Whether the largest change is certain."""
    event_id: str
    """The event of the largest change."""


@dataclass(frozen=True, slots=True)
class MapContent:
    """A map before it is drawn: its layout, its linked cells, and the events that it describes."""

    layout: DriftMap
    linked_cells: set[tuple[int, int]]
    named_events: NamedEvents


@page(bp, "/map")
def show() -> Page:
    """Show the map of all subjects."""
    return _build_page(None)


@page(bp, "/subjects/<subject>")
def show_subject(subject: str) -> Page:
    """Show the map of one subject."""
    return _build_page(subject)


@bp.get("/map.svg", defaults={"subject": None})
@bp.get("/subjects/<subject>/map.svg")
def drawing(subject: str | None) -> ResponseReturnValue:
    """Return a map as a picture with its own colours, for documents and other sites."""
    etag = not_modified.find_current_etag()
    unchanged_response = not_modified.build_not_modified_response(etag)
    if unchanged_response is not None:
        return unchanged_response
    source = render_template("drift_map.svg", map=read_drawn_map(subject, FULL_SIZE), style=read_style())
    response = Response(source, mimetype="image/svg+xml")
    # The inline style cannot be allowed by its hash, because browsers read it in pieces. Nothing else may be loaded.
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return not_modified.make_response_cacheable(response, etag)


def read_drawn_map(subject: str | None, size: MapSize) -> DrawnMap | None:
    """Return the map of a subject, or of all subjects; None if nothing moved.

    Raises
    ------
    ProblemError
        If there is no such subject.
    """
    with get_database().reading() as session:
        subject_id = _find_subject(session, subject)
        version = drift_map.read_map_version(session)
        key = subject_id, size, authorization.is_anonymous()  # Anonymous readers do not see the values of settings.
        return _drawn_maps.get_or_compute_value(
            session, key, version, lambda: _draw_map(_read_map(session, subject_id, size), size)
        )


def _draw_map(content: MapContent | None, size: MapSize) -> DrawnMap | None:
    return draw_map(content.layout, content.linked_cells, content.named_events, size.max_config) if content else None


def _build_page(subject: str | None) -> Page:
    """Return the page of the map of one subject, or of all subjects."""
    return Page(
        "drift_map.html",
        {"subject": subject, "map": read_drawn_map(subject, FULL_SIZE)},
        document=lambda: _list_cells(subject),
        table=lambda: Table.from_records(_list_cells(subject), *MapCell.model_fields),
    )


def _read_map(session: Session, subject_id: int | None, size: MapSize) -> MapContent | None:
    """Return the content of a map; None if nothing moved."""
    commits = drift_map.list_measured_commits(session, subject_id)
    if not commits:
        return None
    columns = divide_history(commits, _MAX_COLUMNS)
    drifts = drift_map.list_map_drifts(session, subject_id, columns)
    if not drifts:
        return None
    arranged_map = layout.arrange_drifts(columns, drifts, max_rows=size.max_rows, max_bars=size.max_bars)
    linked_cells = choose_linked_cells(arranged_map, size.max_links)
    important_events = drift_map.list_important_events(session, subject_id, _MAX_IMPORTANT_EVENTS)
    labelled_drifts = choose_labelled_drifts(arranged_map, important_events)
    shown_drifts = drift_map.update_levels(session, [labelled.drift for labelled in labelled_drifts])
    config_events = drift_map.list_config_events(session, subject_id, arranged_map.leading)
    n_unmoved_changes = count_unmoved_changes(
        drift_map.list_successive_settings(session, subject_id), (event.settings for event in config_events)
    )
    linked_events = drift_map.read_map_events(session, list_linked_events(arranged_map, linked_cells))
    named_events = NamedEvents(
        events={event_id: _redact_settings(event) for event_id, event in linked_events.items()},
        labelled_drifts=[
            LabelledDrift(_redact_settings(labelled.event), drift)
            for labelled, drift in zip(labelled_drifts, shown_drifts, strict=True)
        ],
        config_events=[_redact_settings(event) for event in config_events],
        n_unmoved_changes=n_unmoved_changes,
    )
    return MapContent(arranged_map, linked_cells, named_events)


def _find_subject(session: Session, name: str | None) -> int | None:
    """Return the id of a subject; None for all subjects. Answer 404 if there is no subject with the name."""
    if name is None:
        return None
    row = shared_rows.find_subject(session, name)
    if row is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no subject {escape_invisible_characters(name)}.")
    return row.id


def _redact_settings(event: MapEvent) -> MapEvent:
    """Return an event without the values of its settings if the caller may not see them."""
    return event.with_settings(tuple(redact_view_for_caller(list(event.settings))))


def _list_cells(subject: str | None) -> list[MapCell]:
    """Return all cells of the map of a subject, or of all subjects, row by row."""
    with get_database().reading() as session:
        content = _read_map(session, _find_subject(session, subject), FULL_SIZE)
    if content is None:
        return []
    arranged_map = content.layout
    return [_build_cell(arranged_map, row, cell) for row in arranged_map.rows for _, cell in sorted(row.cells.items())]


def _build_cell(layout_of_map: DriftMap, row: Row, cell: Cell) -> MapCell:
    """Return a cell in the form for programs: changes as factors between two levels, and the column as a date."""
    columns = layout_of_map.columns
    return MapCell(
        subject=row.subject,
        workload=row.workload,
        case=row.case,
        column=cell.column,
        since=columns.starts[cell.column].isoformat(timespec="seconds"),
        commit=columns.commits[cell.column].commit if columns.commits else None,
        drifts=cell.n_drifts,
        worse=layout.compute_factor(cell.largest_worse) if cell.largest_worse else None,
        better=layout.compute_factor(cell.largest_better) if cell.largest_better else None,
        certain=cell.largest.certain,
        event_id=cell.largest.event,
    )


@cache
def read_style() -> str:
    """Return the CSS of a map in an SVG file: the rules of the map, and the variables of app.css that they use."""
    # In app.css, the variables precede the first section, "Ground". drift_map.css begins with a comment.
    rules = (_STATIC_FOLDER / "drift_map.css").read_text(encoding="utf-8")
    colours = (_STATIC_FOLDER / "app.css").read_text(encoding="utf-8").partition("/* ---- Ground")[0]
    used_variables = set(re.findall(r"var\((--[a-z0-9-]+)\)", rules))
    lines = []
    for line in colours.splitlines():
        is_variable = line.strip().startswith("--")
        is_unused = is_variable and line.partition(":")[0].strip() not in used_variables
        if not is_unused and not line.startswith("/*"):
            lines.append(line)
    rules_without_comment = rules.partition("*/")[2]
    return "\n".join(lines) + rules_without_comment
