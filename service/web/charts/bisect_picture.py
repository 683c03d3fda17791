"""The picture of a bisect: the commits on a line, and below the line one row for each measurement, in order.

Each row shows what was known after its measurement: the remaining range, and which level the result resembles. A
shape, a colour and a word each express the result of a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.rules.bisect.graph import Graph

WIDTH = 1080
"""Width of the picture, in its own units, like all lengths here."""
_LEFT_SPACE, _RIGHT_SPACE = 34.0, 24.0
_LINE_Y = 62.0
"""Height of the line of commits, below the names of culprits."""
_BRANCH_HEIGHT = 16.0
_ROWS_OFFSET = 14
"""Space between the line of commits and the first row."""
_BOTTOM_SPACE = 24
_ROW_HEIGHT = 22.0
_MAX_HEIGHT = 900.0
_MAX_TICKS = 320
"""Largest number of commits that get a tick each; with more commits, only the line is drawn."""
_TICK_HEIGHT = 6
_MARK_SIZE = 5.0
_MIN_MARK_SIZE = 1.5
_MARKS_PER_ROW_HEIGHT = 2.4
"""The smallest ratio of a row's height to half the width of its mark, so that marks do not touch."""
_LABEL_DISTANCE = 8
"""Distance between the line of a culprit and its label."""
_LABEL_LINE_HEIGHT = 18
_MIN_RANGE_ROW_HEIGHT, _MIN_NUMBER_ROW_HEIGHT = 8, 12
"""The smallest heights of rows in which the remaining range and the number of the measurement are legible."""


class MeasuredSide(StrEnum):
    """Which level a measurement of a commit resembles."""

    BEFORE = "before"
    AFTER = "after"
    BETWEEN = "between"
    """Neither level: there is more than one culprit."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MeasurementMark:
    """One measurement, before it is laid out."""

    commit: str
    side: MeasuredSide
    number: str
    """Its number in the order of the search; empty if its run was stored before the search."""
    label: str
    proof: bool = False


@dataclass(frozen=True, slots=True)
class NamedCulprit:
    """A culprit, before its label is laid out."""

    commit: str
    parent: str
    text: str


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """A measurement at its place."""

    mark: MeasurementMark
    x: float
    y: float
    shape: str
    """Its shape, as SVG path data."""


@dataclass(frozen=True, slots=True)
class CulpritLabel:
    """A culprit's name at its place."""

    x: float
    text: str
    text_x: float
    text_y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class SearchPicture:
    """A bisect, laid out for the template."""

    height: float
    line: str
    ticks: str
    branches: str
    rows: tuple[PlacedMark, ...]
    remaining_ranges: tuple[tuple[float, float, float], ...]
    """The range that remained after each row: its start, its end, and the y of the row."""
    flags: tuple[CulpritLabel, ...]
    numbered: bool
    width: int = WIDTH
    top: float = _LINE_Y


def draw_search(graph: Graph, marks: Sequence[MeasurementMark], culprits: Sequence[NamedCulprit]) -> SearchPicture:
    """Lay out a search. The commit of each mark and culprit must be in the graph."""
    row_height = min(_ROW_HEIGHT, _MAX_HEIGHT / max(1, len(marks)))
    mark_size = min(_MARK_SIZE, max(_MIN_MARK_SIZE, row_height / _MARKS_PER_ROW_HEIGHT))

    def compute_x(commit: str) -> float:
        return _compute_x(graph, graph.index_of[commit])

    main_line = graph.line or (graph.good, graph.bad)  # no line if the bad commit does not descend from the good one
    branch_commits = [commit for commit in graph.names if commit not in set(main_line)]
    top = _LINE_Y + (_BRANCH_HEIGHT if branch_commits else 0)
    placed_marks = []
    for number, mark in enumerate(marks):
        x = compute_x(mark.commit)
        y = round(top + _ROWS_OFFSET + (number + 0.5) * row_height, 1)
        placed_marks.append(PlacedMark(mark, x, y, _draw_shape(mark.side, x, y, mark_size)))
    has_ticks = len(graph.names) <= _MAX_TICKS
    # With several culprits, or with branches in the history, the remaining commits are not one range of the line.
    is_one_range = len(culprits) < 2 and not branch_commits
    has_ranges = is_one_range and row_height >= _MIN_RANGE_ROW_HEIGHT
    flags = tuple(
        _label_culprit(compute_x(culprit.commit), culprit.text, number) for number, culprit in enumerate(culprits)
    )
    return SearchPicture(
        height=round(top + _BOTTOM_SPACE + len(marks) * row_height, 1),
        line=f"M{compute_x(main_line[0])},{_LINE_Y}H{compute_x(main_line[-1])}",
        ticks="".join(_draw_tick(compute_x(commit), _LINE_Y) for commit in main_line) if has_ticks else "",
        branches=_draw_branches(graph, set(main_line)) if has_ticks else "",
        rows=tuple(placed_marks),
        remaining_ranges=_list_remaining_ranges(graph, placed_marks) if has_ranges else (),
        flags=flags,
        numbered=row_height >= _MIN_NUMBER_ROW_HEIGHT,
        top=top,
    )


def _compute_x(graph: Graph, index: int) -> float:
    """Return the horizontal position of a commit: the commits of a graph are spread evenly over the width."""
    return round(_LEFT_SPACE + index * (WIDTH - _LEFT_SPACE - _RIGHT_SPACE) / max(1, len(graph.names) - 1), 1)


def _draw_tick(x: float, y: float) -> str:
    return f"M{x},{y - _TICK_HEIGHT // 2}v{_TICK_HEIGHT}"


def _list_remaining_ranges(graph: Graph, placed_marks: Sequence[PlacedMark]) -> tuple[tuple[float, float, float], ...]:
    """Return the remaining range after each row: from the last commit before the change to the first one after it."""
    last_before, first_after = 0, len(graph.names) - 1
    side_at: dict[int, MeasuredSide] = {}
    ranges = []
    for row in placed_marks:
        index = graph.index_of[row.mark.commit]
        if row.mark.side is not MeasuredSide.FAILED:
            side_at[index] = row.mark.side
        indices_after = [place for place, side in side_at.items() if side is MeasuredSide.AFTER]
        first_after = min(indices_after, default=first_after)
        indices_before = [
            place for place, side in side_at.items() if side is MeasuredSide.BEFORE and place < first_after
        ]
        last_before = max(indices_before, default=last_before)
        ranges.append((_compute_x(graph, last_before), _compute_x(graph, first_after), row.y))
    return tuple(ranges)


def _draw_branches(graph: Graph, main_line: set[str]) -> str:
    """Draw the commits beside the line, each joined to its parents."""
    parts = []

    def place_commit(commit: str) -> tuple[float, float]:
        return _compute_x(graph, graph.index_of[commit]), _LINE_Y if commit in main_line else _LINE_Y + _BRANCH_HEIGHT

    for commit, parents in graph.parents.items():
        for parent in parents:
            # A parent outside the graph is older than the range: it is drawn at the good commit.
            parent_in_graph = parent if parent in graph.index_of else graph.good
            if commit in main_line and parent_in_graph in main_line:
                continue
            (from_x, from_y), (to_x, to_y) = place_commit(parent_in_graph), place_commit(commit)
            parts.append(f"M{from_x},{from_y}L{to_x},{to_y}")
        if commit not in main_line:
            x, y = place_commit(commit)
            parts.append(_draw_tick(x, y))
    return "".join(parts)


def _label_culprit(x: float, text: str, index: int) -> CulpritLabel:
    """Return the label of a culprit, on the side of its line that has more room.

    Labels alternate between two heights, so that neighbours do not cover each other.
    """
    is_on_left_half = x < WIDTH / 2
    return CulpritLabel(
        x=x,
        text=text,
        text_x=round(x + (_LABEL_DISTANCE if is_on_left_half else -_LABEL_DISTANCE), 1),
        text_y=float(_LABEL_LINE_HEIGHT * (1 + index % 2)),
        anchor="start" if is_on_left_half else "end",
    )


def _draw_shape(side: MeasuredSide, x: float, y: float, size: float) -> str:
    """Return the SVG path of a measurement; each side of the change has a shape of its own."""
    match side:
        case MeasuredSide.BEFORE:  # a circle, drawn as two arcs
            return (
                f"M{x - size:g},{y:g}a{size:g},{size:g} 0 1 0 {2 * size:g},0a{size:g},{size:g} 0 1 0 {-2 * size:g},0z"
            )
        case MeasuredSide.AFTER:  # a triangle
            return f"M{x:g},{y - size:g}L{x + size:g},{y + size * 0.8:g}H{x - size:g}z"
        case MeasuredSide.BETWEEN:  # a diamond
            return f"M{x:g},{y - size:g}L{x + size:g},{y:g}L{x:g},{y + size:g}L{x - size:g},{y:g}z"
        case MeasuredSide.FAILED:  # a cross
            return (
                f"M{x - size:g},{y - size:g}L{x + size:g},{y + size:g}M{x + size:g},{y - size:g}"
                f"L{x - size:g},{y + size:g}"
            )
