"""Arranges drifts in the drift map: a row for each case with drifts, a cell for each column in which it has some.

The size of the map is bounded, whatever the number of cases and drifts: cases that do not fit share the last row. Every
drift is counted in exactly one cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from service.rules.drift_map.columns import Columns

MAX_STEP = 4
"""Number of sizes that the map distinguishes: below 1 %, below 10 %, below 100 %, and larger."""
_MOVE_FROM_ZERO = math.log(1e9)
"""The move of a change from or to zero: larger than any other."""
_FURTHER_ROWS_WEIGHT = 0.5
"""The largest weight of an event in rows other than that of its leading drift."""
SUSPECTED_WEIGHT = 0.25
"""The weight of a suspected drift, relative to a certain one."""


RowName = tuple[str, str, str]
"""Subject, workload and case of a row."""


class MapDrift(NamedTuple):
    """The fields of a drift that the map needs.

    Attributes
    ----------
    drift_id
        The id of the drift.
    row
        The row to which it belongs: subject, workload and case.
    case_key
        Key of the case's definition; empty for a shift of a whole suite.
    column
        The column of its newest candidate.
    metric, before, after
        The metric and its two levels.
    move
        How far the level moved: the result of :func:`compute_move`.
    weight
        The move, reduced if the drift is only suspected.
    returned
        Whether its event came back with it; it is then not the leading drift of the event.
    importance
        The importance of its event.
    """

    drift_id: str
    row: RowName
    case_key: str
    column: int
    metric: str
    before: float
    after: float
    move: float
    weight: float
    worse: bool
    certain: bool
    returned: bool
    event: str
    importance: float


@dataclass(slots=True)
class Cell:
    """The drifts of a row in one column.

    Attributes
    ----------
    n_drifts
        The number of drifts.
    largest_worse, largest_better
        The largest drift of each direction; None if there is none.
    """

    column: int
    n_drifts: int = 0
    largest_worse: MapDrift | None = None
    largest_better: MapDrift | None = None

    @property
    def largest(self) -> MapDrift:
        """The drift with the largest weight."""
        return max(
            (drift for drift in (self.largest_worse, self.largest_better) if drift), key=lambda drift: drift.weight
        )

    @property
    def bar_drifts(self) -> list[MapDrift]:
        """The drifts that are drawn as bars: at most one of each direction."""
        return [drift for drift in (self.largest_worse, self.largest_better) if drift is not None]

    def add(self, drift: MapDrift) -> None:
        """Count a drift, and keep it if it is the largest of its direction."""
        self.n_drifts += 1
        if drift.worse:
            if self.largest_worse is None or drift.weight > self.largest_worse.weight:
                self.largest_worse = drift
        elif self.largest_better is None or drift.weight > self.largest_better.weight:
            self.largest_better = drift


@dataclass(slots=True)
class Row:
    """The drifts of one case, or of all cases that have no row of their own.

    Attributes
    ----------
    n_cases
        The number of cases that the row stands for.
    """

    subject: str
    workload: str
    case: str
    case_key: str = ""
    n_cases: int = 1
    cells: dict[int, Cell] = field(default_factory=dict)

    def add(self, drift: MapDrift) -> None:
        """Count a drift in its cell."""
        cell = self.cells.get(drift.column)
        if cell is None:
            cell = self.cells[drift.column] = Cell(drift.column)
        cell.add(drift)

    @property
    def n_drifts(self) -> int:
        """The number of drifts in the row."""
        return sum(cell.n_drifts for cell in self.cells.values())

    @property
    def n_bars(self) -> int:
        """The number of bars in the row."""
        return sum(len(cell.bar_drifts) for cell in self.cells.values())


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one workload of one subject."""

    subject: str
    workload: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class DriftMap:
    """The content of the map.

    Attributes
    ----------
    groups
        The workloads with their cases; the most important drifts come first.
    others
        One row for all cases with drifts that have no row of their own; None if there are none.
    leading
        The leading drift of each event, by the event's id.
    """

    columns: Columns
    groups: Sequence[Group]
    others: Row | None
    leading: Mapping[str, MapDrift]

    @property
    def rows(self) -> list[Row]:
        """All rows, from the top."""
        return [row for group in self.groups for row in group.rows] + ([self.others] if self.others else [])

    def find_column(self, event: str) -> int:
        """Return the column of an event's leading drift."""
        return self.leading[event].column


def arrange_drifts(columns: Columns, drifts: Sequence[MapDrift], *, max_rows: int, max_bars: int) -> DriftMap:
    """Return the map of drifts.

    Parameters
    ----------
    max_rows, max_bars
        Maximum number of cases with rows of their own, and maximum number of bars in all of these rows. The most
        important case always has a row.
    """
    leading_drifts = _find_leading_drifts(drifts)
    drifts_by_row: dict[RowName, list[MapDrift]] = {}
    for drift in drifts:
        drifts_by_row.setdefault(drift.row, []).append(drift)
    ranked_names = sorted(drifts_by_row, key=lambda name: _rank_row(name, drifts_by_row[name], leading_drifts))
    ranked_rows = [(name, drifts_by_row[name]) for name in ranked_names]
    # Only the rows that can be shown are filled with cells: they contain few of ten thousand drifts.
    rows = [_fill_row(*entry) for entry in ranked_rows[: max_rows + 1]]
    n_shown = _count_fitting(rows, max_rows, max_bars)
    if n_shown == len(ranked_rows) - 1:  # a single remaining case gets the last row itself
        n_shown = len(ranked_rows)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows[:n_shown]:
        groups.setdefault((row.subject, row.workload), []).append(row)
    return DriftMap(
        columns=columns,
        groups=[Group(subject, workload, rows_of_group) for (subject, workload), rows_of_group in groups.items()],
        others=_join_rows(ranked_rows[n_shown:]) if n_shown < len(ranked_rows) else None,
        leading=leading_drifts,
    )


def compute_move(before: float, after: float) -> float:
    """Return how far a level moved: the absolute logarithm of the factor, so that halving counts like doubling."""
    if before == after:
        return 0.0
    factor = after / before if before else 0.0
    move = abs(math.log(factor)) if 0 < factor < math.inf else _MOVE_FROM_ZERO
    return move if move < _MOVE_FROM_ZERO else _MOVE_FROM_ZERO


def compute_factor(drift: MapDrift) -> float:
    """Return the factor between both levels of a drift, at least 1."""
    return round(math.exp(drift.move), 4)  # rounded, because the exponential of a logarithm is not exact


def choose_step(drift: MapDrift) -> int:
    """Return the size of a drift as a step: 1, and one more from each of 1, 10 and 100 % on, to :data:`MAX_STEP`."""
    percent = 100 * math.expm1(drift.move)
    return 1 + sum(percent >= limit - 1e-9 for limit in (1, 10, 100))  # 1e-9 allows for rounding errors at a limit


def _find_leading_drifts(drifts: Iterable[MapDrift]) -> dict[str, MapDrift]:
    """Return the leading drift of each event, by the event's id: the drift with which the event's headline begins."""
    drifts_by_event: dict[str, list[MapDrift]] = {}
    for drift in drifts:
        drifts_by_event.setdefault(drift.event, []).append(drift)
    return {
        event: max(drifts_of_event, key=_rank_drift_in_event) if len(drifts_of_event) > 1 else drifts_of_event[0]
        for event, drifts_of_event in drifts_by_event.items()
    }


def _rank_drift_in_event(drift: MapDrift) -> tuple[bool, bool, float]:
    """Return the sort key of a drift in its event; the leading drift has the largest key.

    As in :func:`service.rules.events.leading_drift.choose_leading_drift`, the size is relative to the level before. The
    move would rank a decrease by half above an increase by 90 %.
    """
    size = 0.0  # A shift of a whole suite has no move, and its levels are relative to zero.
    if drift.move:
        size = abs((drift.after - drift.before) / drift.before) if drift.before else math.inf
    return not drift.returned, drift.certain, size


def _rank_row(
    name: RowName, drifts: Iterable[MapDrift], leading_drifts: Mapping[str, MapDrift]
) -> tuple[float, float, RowName]:
    """Return the sort key of a row; the first row has the smallest key.

    Rows are sorted by their most important event, then by their largest weight, which is reduced for suspicions.
    The importance of an event counts in full for the row of its leading drift. For its other rows, it counts in
    proportion to how far they moved, and at most half, so that an event in many cases does not leave other events
    without a row.
    """
    importance = weight = 0.0
    for drift in drifts:
        weight = max(weight, drift.weight)
        if drift.importance > importance:
            leading_drift, share = leading_drifts[drift.event], 1.0
            if leading_drift.row != name:
                relative_weight = drift.weight / leading_drift.weight if leading_drift.weight else 1.0
                share = _FURTHER_ROWS_WEIGHT * min(1.0, relative_weight)
            importance = max(importance, drift.importance * share)
    return -importance, -weight, name


def _fill_row(name: RowName, drifts: Iterable[MapDrift]) -> Row:
    """Return the row of a case, with all of its drifts in their cells."""
    row = Row(*name)
    for drift in drifts:
        row.case_key = max(row.case_key, drift.case_key)
        row.add(drift)
    return row


def _count_fitting(rows: Sequence[Row], max_rows: int, max_bars: int) -> int:
    """Return how many of the first rows fit: at least one."""
    n_bars = 0
    for index, row in enumerate(rows[:max_rows]):
        n_bars += row.n_bars
        if index and n_bars > max_bars:
            return index
    return min(len(rows), max_rows)


def _join_rows(entries: Sequence[tuple[RowName, Sequence[MapDrift]]]) -> Row:
    """Return one row with the drifts of several rows."""
    joined_row = Row("", "", "", n_cases=len(entries))
    for _, drifts in entries:
        for drift in drifts:
            joined_row.add(drift)
    return joined_row
