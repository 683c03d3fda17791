"""Draws the drift map as SVG: rows of bars in a stretched grid, names beside it, callouts above it.

Widths are shares of the width of the picture; heights and letters are in pixels. The picture therefore fits a phone and
a wide screen alike. Only the most important cells are links with a text of their own, so that the file stays small.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runner.contract import get_metric
from runner.contract.number_text import format_count, format_percent
from service.rules.drift_map.columns import Columns, Unit
from service.rules.drift_map.layout import Cell, DriftMap, MapDrift, Row, choose_step
from service.rules.relative_change import compute_percent_change
from service.schemas.history import Cause
from service.schemas.triage import EventDirection, State
from service.store.drift_map import MapEvent
from service.text.cause_text import SHORT_HASH_DIGITS, prefix_provisional
from service.text.setting_words import describe_new_value, describe_setting_changes
from service.web.charts.drift_map_setting_changes import SettingsChange, group_config_events

ROW, CALLOUT, AXIS = 24, 24, 40
"""Heights in pixels. Rows are high enough for a finger to hit a single link."""
_CALLOUT_GAP = 4
"""Pixels between the last callout and the grid."""
_HEIGHTS = (3.0, 5.5, 8.0, 11.0)
"""Heights of bars in pixels, by the step of the change's size."""
_BAR_LEFT, _BAR_WIDTH = 0.06, 0.88
"""Position and width of a bar in its column, as shares of the column's width."""
_MAX_LEFT_SHARE = 0.31
"""The share of the width, from the left, in which callouts are written to the right of their line, not to the left."""
_MIN_COLUMNS_WITH_MIDDLE = 5
"""The smallest number of columns with which the middle of the axis has a date, in addition to both ends."""
_CALLOUT_KINDS = {
    EventDirection.REGRESSION: "worse",
    EventDirection.IMPROVEMENT: "better",
    EventDirection.MIXED: "mixed",
}
_DECIDED = frozenset({State.EXPECTED, State.FIXED})
"""States of events that are closed, but stay on the map, because they moved levels."""
_MAX_HOVER_LINES = 3
"""Largest number of lines that a callout shows on hover."""
_MIN_SUBJECT_CHARACTERS = 16
"""Smallest number of characters of a commit's subject that a callout shows beside the author."""
_MIN_CAUSE_CHARACTERS, _MIN_CASE_CHARACTERS = 26, 12
"""Characters of a cause that a callout shows before it shortens the case, and the smallest number of the case's: the
name of the case is also that of its row, but nothing else beside the grid names the cause."""
_MAX_SHORT_CHARACTERS = 21
"""Largest number of characters of a callout on a phone."""
_MAX_VALUE_CHARACTERS = 22
"""Largest number of characters of a callout about a setting on a phone: its arrow is wide."""
_MAX_FIRST_PART_CHARACTERS = 48
"""Largest number of characters of the first part of a callout on other screens, for the column with the least room."""
_MAX_CALLOUT_CHARACTERS = 80
"""Largest number of characters of a whole callout for that column, besides the marks at its start."""
_MAX_HOVER_CHARACTERS = 90
"""Largest number of characters of a line on hover."""
_MAX_NAME_CHARACTERS, _MAX_NARROW_NAME_CHARACTERS = 42, 18
"""Largest numbers of characters of the name of a row: on other screens, and on a phone."""
_GRID_WIDTH_CHARACTERS = 90
"""Characters that fit into the width of the grid on the narrowest screen that shows whole callouts."""


@dataclass(frozen=True, slots=True)
class MapSize:
    """The largest numbers of rows, bars, linked cells, and callouts about changes of settings in a map."""

    max_rows: int
    max_bars: int
    max_links: int
    max_config: int


FULL_SIZE = MapSize(max_rows=40, max_bars=1000, max_links=100, max_config=4)
SMALL_SIZE = MapSize(max_rows=8, max_bars=300, max_links=40, max_config=2)
"""The size of the map on the first page, which has the list of events below it."""


class Bar(NamedTuple):
    """A bar: its CSS class, and its SVG path."""

    kind: str
    path: str


class DrawnCell(NamedTuple):
    """A cell that links to its event."""

    event: str
    text: str
    bars: Sequence[Bar]


class DrawnRow(NamedTuple):
    """A row: its name, the cells that are links, and the bars of all other cells as one path for each CSS class."""

    top: float
    name: str
    narrow_name: str
    """The name, shortened to the width of a phone."""
    text: str
    case_key: str
    cells: Sequence[DrawnCell]
    bars: Sequence[Bar]


class SettingLine(NamedTuple):
    """A line across the grid where settings changed, without a callout; it leads to an event."""

    left: float
    event: str
    text: str


class Callout(NamedTuple):
    """A text above the grid, with a line down to its column.

    Attributes
    ----------
    left
        The middle of the column, in percent of the grid.
    end
        The lower end of the line, in pixels from the top.
    short, what, rest
        The text: for a phone, and in two parts for other screens.
    """

    kind: str
    event: str
    left: float
    top: float
    end: float
    is_left: bool
    short: str
    what: str
    rest: str
    text: str


@dataclass(frozen=True, slots=True)
class DrawnMap:
    """A map, laid out for the template.

    Attributes
    ----------
    headings
        The headings of workloads, each with its top and its text.
    setting_lines
        A line for each column in which settings changed and which no callout names.
    dates
        The dates at the ends and in the middle of the axis.
    n_cases, n_drifts
        The number of cases that moved, and the number of drifts.
    n_unmoved_changes
        The number of changes of settings that moved nothing, and have no line.
    """

    columns: int
    unit: Unit
    step: int
    height: float
    grid_top: float
    grid_bottom: float
    headings: Sequence[tuple[float, str]]
    rows: Sequence[DrawnRow]
    callouts: Sequence[Callout]
    setting_lines: Sequence[SettingLine]
    dates: Sequence[str]
    n_cases: int
    n_drifts: int
    n_unmoved_changes: int

    @property
    def has_settings(self) -> bool:
        """Whether the map has a line or a callout for changed settings."""
        return bool(self.setting_lines) or any(callout.kind == "setting" for callout in self.callouts)


class LabelledDrift(NamedTuple):
    """A drift that gets a callout, and its event."""

    event: MapEvent
    drift: MapDrift


@dataclass(frozen=True, slots=True)
class NamedEvents:
    """The events that the map describes in words: those of linked cells and of callouts.

    Attributes
    ----------
    events
        The events of linked cells, by id.
    labelled_drifts, config_events
        The drifts and the events of callouts; all of them are in the map.
    n_unmoved_changes
        How many changes of settings moved nothing, and have no event.
    """

    events: Mapping[str, MapEvent]
    labelled_drifts: Sequence[LabelledDrift]
    config_events: Sequence[MapEvent]
    n_unmoved_changes: int = 0


def choose_linked_cells(layout: DriftMap, limit: int) -> set[tuple[int, int]]:
    """Return the cells that become links, each by its row and column: those of the most important events."""
    # Negative rows and columns let nlargest prefer the uppermost, then the leftmost, of equally important cells.
    cells = (
        (cell.largest.importance, cell.largest.weight, -index, -column)
        for index, row in enumerate(layout.rows)
        for column, cell in row.cells.items()
    )
    return {(-index, -column) for *_, index, column in heapq.nlargest(limit, cells)}


def list_linked_events(layout: DriftMap, linked_cells: set[tuple[int, int]]) -> set[str]:
    """Return the events that the linked cells lead to."""
    rows = layout.rows
    return {rows[index].cells[column].largest.event for index, column in linked_cells}


def choose_labelled_drifts(layout: DriftMap, important_events: Sequence[MapEvent]) -> list[LabelledDrift]:
    """Return the drifts of important events that get a callout.

    This is the leading drift of each event that has one in the map: otherwise there is no column to which the callout
    could point.
    """
    return [LabelledDrift(event, layout.leading[event.id]) for event in important_events if event.id in layout.leading]


def draw_map(
    layout: DriftMap, linked_cells: set[tuple[int, int]], named_events: NamedEvents, max_config: int
) -> DrawnMap:
    """Draw a map.

    Parameters
    ----------
    linked_cells
        The linked cells, from :func:`choose_linked_cells`.
    max_config
        The largest number of changes of settings that get a callout; the others show their text on hover.
    """
    changes = group_config_events(layout, named_events.config_events)
    named_changes = _choose_named_changes(changes, named_events.labelled_drifts, max_config)
    n_callouts = len(named_events.labelled_drifts) + len(named_changes)
    top = float(n_callouts * CALLOUT + _CALLOUT_GAP) if n_callouts else 0.0
    headings, rows, bottom = _draw_rows(layout, linked_cells, named_events.events, top)
    return DrawnMap(
        columns=len(layout.columns),
        unit=layout.columns.unit,
        step=layout.columns.step,
        height=bottom + AXIS,
        grid_top=top,
        grid_bottom=bottom,
        headings=headings,
        rows=rows,
        callouts=_draw_callouts(layout, named_events.labelled_drifts, changes, named_changes, rows, bottom),
        setting_lines=_draw_setting_lines(layout.columns, changes, named_changes),
        dates=_list_dates(layout.columns),
        n_cases=sum(row.n_cases for row in layout.rows),
        n_drifts=sum(row.n_drifts for row in layout.rows),
        n_unmoved_changes=named_events.n_unmoved_changes,
    )


def _choose_named_changes(
    changes: Sequence[SettingsChange], labelled_drifts: Sequence[LabelledDrift], limit: int
) -> list[SettingsChange]:
    """Return the changes of settings that get a callout.

    One that would lead to the event of another callout gets none: a commit or the settings may have caused this event,
    and its callout names both. Two callouts would look like two events.
    """
    labelled_events = {labelled.event.id for labelled in labelled_drifts}
    return [change for change in changes if change.events[0].id not in labelled_events][:limit]


def _draw_rows(
    layout: DriftMap, linked_cells: set[tuple[int, int]], events: Mapping[str, MapEvent], top: float
) -> tuple[list[tuple[float, str]], list[DrawnRow], float]:
    """Return the headings, the rows, and the bottom of the grid.

    A workload with several cases has a heading, and its rows are named by the parameters of the cases. Any other row is
    named by its case, preceded by its subject if the map has several.
    """
    several_subjects = len({group.subject for group in layout.groups}) > 1
    headings: list[tuple[float, str]] = []
    rows: list[DrawnRow] = []
    for group in layout.groups:
        subject = group.subject if several_subjects else ""
        title = _join_names(subject, group.workload)
        has_heading = len(group.rows) > 1 and bool(title)
        if has_heading:
            headings.append((top, _shorten_text(title, _MAX_NAME_CHARACTERS)))
            top += ROW
        for row in group.rows:
            if has_heading:
                parameters = row.case.removeprefix(group.workload).removeprefix("[").removesuffix("]")
                name = parameters or row.case
            else:
                name = _join_names(subject, row.case)
            rows.append(_draw_row(row, name, len(rows), top, layout.columns, linked_cells, events))
            top += ROW
    if layout.others:
        name = format_count(layout.others.n_cases, "other case")
        rows.append(_draw_row(layout.others, name, len(rows), top, layout.columns, linked_cells, events))
        top += ROW
    return headings, rows, top


def _join_names(subject: str, name: str) -> str:
    return f"{subject} · {name}" if subject and name else subject or name


def _draw_row(  # noqa: PLR0917 - everything that a row shows
    row: Row,
    name: str,
    index: int,
    top: float,
    columns: Columns,
    linked_cells: set[tuple[int, int]],
    events: Mapping[str, MapEvent],
) -> DrawnRow:
    """Draw a row: each linked cell by itself, and the bars of all other cells as one path for each CSS class."""
    cells: list[DrawnCell] = []
    paths: dict[str, str] = {}
    for column, cell in sorted(row.cells.items()):
        bars = [_draw_bar(drift, column, top + ROW / 2) for drift in cell.bar_drifts]
        event = events.get(cell.largest.event)
        if (index, column) in linked_cells and event is not None:
            cells.append(DrawnCell(event.id, _describe_cell(cell, event, columns), bars))
            continue
        for bar in bars:
            paths[bar.kind] = paths.get(bar.kind, "") + bar.path
    changes = format_count(row.n_drifts, "change")
    text = f"{_join_names(row.subject, row.case) or name}: {changes}"
    bars_beside = [Bar(kind, path) for kind, path in sorted(paths.items())]
    return DrawnRow(
        top=top,
        name=_shorten_text(name, _MAX_NAME_CHARACTERS),
        narrow_name=_shorten_text(name, _MAX_NARROW_NAME_CHARACTERS),
        text=text,
        case_key=row.case_key,
        cells=cells,
        bars=bars_beside,
    )


def _draw_bar(drift: MapDrift, column: int, middle: float) -> Bar:
    """Return the bar of a drift: above the middle of its row if it is worse, below if better; hollow if suspected."""
    step = choose_step(drift)
    height = _HEIGHTS[step - 1]
    start, down = (middle, -height) if drift.worse else (middle, height)
    kind = f"{'w' if drift.worse else 'b'}{step}{'' if drift.certain else ' o'}"  # the classes of drift_map.css
    x = f"{column + _BAR_LEFT:.2f}".lstrip("0")  # SVG reads .06 as 0.06, and a map has up to a thousand bars
    return Bar(kind, f"M{x} {start:g}h{_BAR_WIDTH:g}v{down:g}h-{_BAR_WIDTH:g}z")


def _describe_cell(cell: Cell, event: MapEvent, columns: Columns) -> str:
    """Return the text of a cell on hover: what changed, where and when, and who made the change."""
    lines = [
        _shorten_text(event.headline if event.confirmed else f"suspected: {event.headline}", _MAX_HOVER_CHARACTERS),
        _describe_column(columns, cell.column),
    ]
    if event.state in _DECIDED:
        lines.append(f"decided: {event.state.value}")
    if cause := _describe_cause(event):
        lines.append(_shorten_text(cause + (f" ({event.author})" if event.author else ""), _MAX_HOVER_CHARACTERS))
    if cell.n_drifts > 1:
        lines.append(f"the largest of {cell.n_drifts:,} changes here")
    return "\n".join(lines)


def _describe_column(columns: Columns, column: int) -> str:
    """Return the commit of a column with its date, or the period that the column stands for."""
    date = f"{columns.starts[column]:%Y-%m-%d}"
    if columns.unit is Unit.COMMIT:
        return f"{columns.commits[column].commit[:SHORT_HASH_DIGITS]} of {date}"
    return f"{columns.unit} of {date}" if columns.step == 1 else f"from {date}"


def _draw_setting_lines(
    columns: Columns, changes: Sequence[SettingsChange], named_changes: Sequence[SettingsChange]
) -> list[SettingLine]:
    """Return a line for each column with changed settings, unless it has a change with a callout."""
    named_columns = {change.column for change in named_changes}
    # A column can have several changes; its line leads to the event of the first.
    event_id_by_column = {change.column: change.events[0].id for change in reversed(changes)}
    return [
        SettingLine(column + 0.5, event_id_by_column[column], text)
        for column, text in sorted(_describe_changes_by_column(columns, changes).items())
        if column not in named_columns
    ]


def _describe_changes_by_column(columns: Columns, changes: Sequence[SettingsChange]) -> dict[int, str]:
    """Return the text on hover for each column with changed settings: these, how much moved, and the date."""
    lines: dict[int, list[str]] = {}
    for change in changes:
        line = describe_setting_changes(change.settings) + _describe_extent(change)
        lines.setdefault(change.column, []).append(_shorten_text(line, _MAX_HOVER_CHARACTERS))
    return {
        column: "\n".join([*lines_of_column[:_MAX_HOVER_LINES], _describe_column(columns, column)])
        for column, lines_of_column in lines.items()
    }


def _describe_extent(change: SettingsChange) -> str:
    """Return how much a change of settings moved: the series of its first event, and how many events are beside it.

    If a commit may instead have moved all of them, the text says so first.
    """
    event, *other_events = change.events
    doubt = " or a commit" if all(event.cause is Cause.COMMIT_AND_CONFIG for event in change.events) else ""
    beside = f", {format_count(len(other_events), 'more event')}" if other_events else ""
    return f"{doubt} · {event.n_series:,} series{beside}"


class _CalloutEntry(NamedTuple):
    """The text of a callout about an event or a change of settings, and the end of its line."""

    column: int
    kind: str
    event_id: str
    first_part: str
    second_part: str
    narrow: str
    """The text on a phone; empty for the start of the first part."""
    hover: str
    end: float


def _draw_callouts(  # noqa: PLR0917 - what the callouts are made of
    layout: DriftMap,
    labelled_drifts: Sequence[LabelledDrift],
    changes: Sequence[SettingsChange],
    named_changes: Sequence[SettingsChange],
    rows: Sequence[DrawnRow],
    bottom: float,
) -> list[Callout]:
    """Return the callouts, ordered so that no line crosses the text of another callout on the same side.

    Parameters
    ----------
    changes, named_changes
        All changes of settings, and those that get a callout.
    bottom
        The bottom of the grid, where the lines of changed settings end.
    """
    n_columns = len(layout.columns)
    texts_by_column = _describe_changes_by_column(layout.columns, changes)
    entries = [_build_callout_of_drift(labelled, layout, rows, bottom) for labelled in labelled_drifts]
    entries += [
        _CalloutEntry(
            column=change.column,
            kind="setting",
            event_id=change.events[0].id,
            first_part=describe_setting_changes(change.settings),
            second_part=_describe_extent(change),
            narrow=describe_new_value(change.settings, _MAX_VALUE_CHARACTERS),
            hover=texts_by_column[change.column],
            end=bottom,
        )
        for change in named_changes
    ]

    def make_sort_key(entry: _CalloutEntry) -> tuple[bool, int]:
        # Text to the left of its line comes first, from right to left; then text to the right, from left to right.
        is_text_to_the_right = _compute_middle(entry.column, n_columns) < _MAX_LEFT_SHARE
        return is_text_to_the_right, entry.column if is_text_to_the_right else -entry.column

    callouts = [
        _draw_callout(entry, level, n_columns) for level, entry in enumerate(sorted(entries, key=make_sort_key))
    ]
    return [_shorten_line(callout, callouts[level:]) for level, callout in enumerate(callouts, 1)]


def _shorten_line(callout: Callout, lower_callouts: Sequence[Callout]) -> Callout:
    """Return a callout whose dashed line ends where another one begins below it: two would look like a solid line."""
    tops = [lower.top for lower in lower_callouts if (lower.kind, lower.left) == (callout.kind, callout.left)]
    return callout._replace(end=tops[0] + CALLOUT / 2) if callout.kind == "setting" and tops else callout


def _build_callout_of_drift(
    labelled_drift: LabelledDrift, layout: DriftMap, rows: Sequence[DrawnRow], bottom: float
) -> _CalloutEntry:
    """Return the texts of the callout of a drift, and where its line ends."""
    event, drift = labelled_drift
    room = _count_fitting_characters(drift.column, len(layout.columns))
    first_part, second_part = _describe_event(event, drift, room)
    return _CalloutEntry(
        column=drift.column,
        kind=_CALLOUT_KINDS[event.direction],
        event_id=event.id,
        first_part=first_part,
        second_part=second_part,
        narrow=_describe_decided_move(event, drift),
        hover=f"{first_part}{second_part}\n{_describe_column(layout.columns, drift.column)}",
        end=_find_line_end(layout, rows, drift, bottom),
    )


def _draw_callout(entry: _CalloutEntry, level: int, n_columns: int) -> Callout:
    """Return a callout with its texts as long as there is room for them."""
    middle, room = _compute_middle(entry.column, n_columns), _count_fitting_characters(entry.column, n_columns)
    short_first_part = _shorten_text(entry.first_part, max(_MAX_FIRST_PART_CHARACTERS, room - len(entry.second_part)))
    return Callout(
        kind=entry.kind,
        event=entry.event_id,
        left=round(100 * middle, 2),
        top=float(level * CALLOUT),
        end=entry.end,
        is_left=middle >= _MAX_LEFT_SHARE,
        short=entry.narrow or _shorten_text(short_first_part, _MAX_SHORT_CHARACTERS),
        what=short_first_part,
        rest=_shorten_text(entry.second_part, room - len(short_first_part)),
        text=_shorten_text(entry.hover, (_MAX_HOVER_LINES + 1) * _MAX_HOVER_CHARACTERS),
    )


def _compute_middle(column: int, n_columns: int) -> float:
    """Return where the middle of a column is, as a share of the width of the grid."""
    return (column + 0.5) / n_columns


def _count_fitting_characters(column: int, n_columns: int) -> int:
    """Return how many characters fit between a column and the edge towards which its text runs.

    The column at _MAX_LEFT_SHARE has the least room; other columns have the more, the further they are from it.
    """
    distance = abs(_compute_middle(column, n_columns) - _MAX_LEFT_SHARE)
    return _MAX_CALLOUT_CHARACTERS + int(_GRID_WIDTH_CHARACTERS * distance)


def _describe_event(event: MapEvent, drift: MapDrift, n_characters: int) -> tuple[str, str]:
    """Return the two parts of the callout of an event's drift: the metric and its change; the place and the author.

    The author is left out where there is no room for both the author and the start of the commit's subject.
    """
    title = get_metric(drift.metric).title.lower() if drift.metric else "whole suite"
    percent = compute_percent_change(drift.after - drift.before, drift.before)
    move_text = f"{title} from zero" if percent is None else f"{format_percent(percent)} {title}"
    move_text = move_text if event.confirmed else prefix_provisional(move_text)
    if event.state in _DECIDED:  # The list of open events does not contain it.
        move_text = f"{event.state.value}: {move_text}"
    other_series = f" and {event.n_series - 1:,} more series" if event.n_series > 1 else ""
    _subject, _workload, case = drift.row
    cause = _describe_cause(event)
    if not cause:
        return move_text, f" in {case}{other_series}"
    room = n_characters - min(len(move_text), _MAX_FIRST_PART_CHARACTERS) - len(f" in {other_series} · ")
    room_of_case = room - min(len(cause), _MIN_CAUSE_CHARACTERS)
    place = f" in {_shorten_text(case, max(room_of_case, _MIN_CASE_CHARACTERS))}{other_series}"
    author = f" ({event.author})" if event.author else ""
    room = n_characters - min(len(move_text), _MAX_FIRST_PART_CHARACTERS) - len(f"{place} · ")
    if room - len(author) < min(len(cause), _MIN_SUBJECT_CHARACTERS):
        author = ""
    return (
        move_text,
        f"{place} · {_shorten_text(cause, max(room - len(author), _MIN_SUBJECT_CHARACTERS))}{author}",
    )


def _describe_cause(event: MapEvent) -> str:
    """Return the commits that could have caused an event, preceded by the settings if these could have caused it too.

    The settings come first because the text may be cut off at its end, and the settings are shorter.
    """
    if event.cause is not Cause.COMMIT_AND_CONFIG or not event.settings:
        return event.blamed
    return ", or ".join(filter(None, (describe_setting_changes(event.settings), event.blamed)))


def _describe_decided_move(event: MapEvent, drift: MapDrift) -> str:
    """Return the callout of a decided event on a phone, which has no room for the metric; empty for other events."""
    percent = compute_percent_change(drift.after - drift.before, drift.before)
    if event.state not in _DECIDED:
        return ""
    return f"{event.state.value}: {'from zero' if percent is None else format_percent(percent)}"


def _find_line_end(layout: DriftMap, rows: Sequence[DrawnRow], drift: MapDrift, bottom: float) -> float:
    """Return the lower end of the line of an event's drift: the middle of the cell of the drift.

    If the drift has no cell of its own, this is the topmost cell in its column that shows the event. If other events
    have larger changes in all these cells, the line ends at the bottom of the grid.
    """
    ends = [
        ((row.subject, row.workload, row.case) == drift.row, drawn_row.top + ROW / 2)
        for row, drawn_row in zip(layout.rows, rows, strict=True)
        if drift.column in row.cells and row.cells[drift.column].largest.event == drift.event
    ]
    return min(ends, key=lambda end: (not end[0], end[1]), default=(False, bottom))[1]


def _list_dates(columns: Columns) -> list[str]:
    """Return the dates of the first, the middle and the last column; not the middle one if there are few columns."""
    last_column = len(columns) - 1
    indices = {0, last_column}
    if len(columns) >= _MIN_COLUMNS_WITH_MIDDLE:
        indices.add(last_column // 2)
    return [f"{columns.starts[index]:%Y-%m-%d}" for index in sorted(indices)]


def _shorten_text(text: str, max_characters: int) -> str:
    # A text that was shortened before already ends with an ellipsis.
    return text if len(text) <= max_characters else f"{text[: max_characters - 1].rstrip(' …')}…"
