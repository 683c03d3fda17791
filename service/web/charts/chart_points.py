"""The plot of a series: what a chart derives from its points, cached until the points change."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from uuid import UUID

from runner.contract.number_text import Number
from service.rules.series.downsample import find_extremes
from service.schemas.history import SeriesDetail, SeriesFailure, SeriesPoint
from service.web.charts.axis_slots import OverlaidSlots, Slots

MAX_COLUMNS = 250
"""Columns of a chart; of a long series, only the extremes of each column are drawn."""
_MAX_STORED_PLOTS = 16
"""Number of series whose plots are cached."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the horizontal axis, in slots, or in milliseconds since 1970 if the axis is by time."""

    start: float
    end: float
    by_time: bool = False


class DrawnPoints:
    """The points of one line or cloud of dots, in drawing order, and the selection of those that a picture needs."""

    def __init__(self, points: Sequence[SeriesPoint], slots: Slots | OverlaidSlots) -> None:
        self.points = points
        self._slots = slots
        self.values: list[Number] = [point.value for point in points if point.value is not None]

    @cached_property
    def lows(self) -> list[Number]:
        """The lowest sample of each point."""
        return [
            value if point.low is None else point.low for point, value in zip(self.points, self.values, strict=True)
        ]

    @cached_property
    def highs(self) -> list[Number]:
        """The highest sample of each point."""
        return [
            value if point.high is None else point.high for point, value in zip(self.points, self.values, strict=True)
        ]

    @cached_property
    def has_ranges(self) -> bool:
        """Whether the samples of any point differ."""
        return self.lows != self.highs

    @cached_property
    def lowest(self) -> Number | None:
        """The lowest sample of all points; None without points."""
        return min(self.lows, default=None)

    @cached_property
    def times(self) -> list[float]:
        """Time of each point's commit, in milliseconds since 1970."""
        return [convert_time_to_milliseconds(point.committed_at) for point in self.points]

    @cached_property
    def slot_numbers(self) -> list[int]:
        """Slot of each point."""
        return [self._slots.find_slot(point) for point in self.points]

    @cached_property
    def index_of_run(self) -> dict[UUID, int]:
        """Index of each run's point."""
        return {point.run_id: index for index, point in enumerate(self.points)}

    @cached_property
    def _are_slots_ascending(self) -> bool:
        return all(slot <= following for slot, following in pairwise(self.slot_numbers))

    @cached_property
    def _extremes(self) -> list[int]:
        return find_extremes(MAX_COLUMNS, self.values, self.lows, self.highs) if self.points else []

    def thin(self, window: Window | None) -> list[SeriesPoint]:
        """Return the points for a picture of a window, and one beyond each end, so that lines run to the edge.

        Parameters
        ----------
        window
            The zoomed part of the axis; None for all points.
        """
        if window is None:
            return [self.points[index] for index in self._extremes]
        start, end = self._find_points_inside(window)
        if start == end and start in {0, len(self.points)}:  # No line crosses the window.
            return []
        start, end = max(0, start - 1), end + 1
        indices = find_extremes(MAX_COLUMNS, self.values[start:end], self.lows[start:end], self.highs[start:end])
        return [self.points[start + index] for index in indices]

    def _find_points_inside(self, window: Window) -> tuple[int, int]:
        """Return the range of indices of the points inside the zoomed window.

        If no point is inside, but a line crosses the window, the range is empty and lies at the line's second point.
        """
        if self._are_slots_ascending and not window.by_time:
            return bisect_left(self.slot_numbers, window.start), bisect_right(self.slot_numbers, window.end)
        positions = self.times if window.by_time else self.slot_numbers
        inside = [index for index, position in enumerate(positions) if window.start <= position <= window.end]
        if inside:
            return inside[0], inside[-1] + 1
        steps = enumerate(pairwise(positions), 1)
        enclosing = next((index for index, ends in steps if min(ends) < window.start and max(ends) > window.end), 0)
        return enclosing, enclosing


class Plot:
    """The points of a series, each at its slot."""

    def __init__(self, points: Iterable[SeriesPoint], failures: Sequence[SeriesFailure]) -> None:
        """Divide the points into those on the path, those beside it, and those without a value."""
        path_points: list[SeriesPoint] = []
        off_path: list[SeriesPoint] = []
        self.valueless: list[SeriesPoint] = []
        for point in points:
            if point.value is None:
                self.valueless.append(point)
            elif point.on_path:
                path_points.append(point)
            else:
                off_path.append(point)
        self.slots = Slots(path_points, [*failures, *self.valueless])
        self.path, self.off_path = DrawnPoints(path_points, self.slots), DrawnPoints(off_path, self.slots)

    @cached_property
    def points_newest_first(self) -> list[SeriesPoint]:
        """All points: the newest commit first, and for each commit the newest run first."""
        points = [*self.path.points, *self.off_path.points, *self.valueless]
        return sorted(points, key=lambda point: (point.position, point.measured_at), reverse=True)

    @cached_property
    def _time_by_position(self) -> list[tuple[int, float]]:
        # The path goes back in the history where the environment changes, so its positions have to be sorted.
        measured = self.path if self.path.points else self.off_path
        return sorted(zip((point.position for point in measured.points), measured.times, strict=True))

    def find_previous_time(self, position: int) -> float:
        """Return the time of the last measured commit before a position, which stands in for the time of a failure.

        Points beside the path count only if the path is empty. For a position before the first measured commit, the
        time of that commit is returned; 0 if none was measured.
        """
        if not self._time_by_position:
            return 0.0
        index = bisect_right(self._time_by_position, position, key=lambda position_and_time: position_and_time[0])
        _position, time = self._time_by_position[max(0, index - 1)]
        return time


class Plots:
    """A cache of the most recently used plots. A plot is computed again when its series has new points or failures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored_plots: OrderedDict[int, tuple[list[SeriesPoint], list[UUID], Plot]] = OrderedDict()

    def get_plot(self, series: SeriesDetail) -> Plot:
        """Return the plot of a series, from the cache if the series has not changed."""
        failed_run_ids = [failure.run_id for failure in series.failures]
        with self._lock:
            stored_entry = self._stored_plots.get(series.id)
            if stored_entry is not None:
                self._stored_plots.move_to_end(series.id)
        if stored_entry is not None:
            stored_points, stored_failed_run_ids, stored_plot = stored_entry
            # Points are compared by identity, which is fast: a series that gets new points gets a new list of them.
            if stored_points is series.points and stored_failed_run_ids == failed_run_ids:
                return stored_plot
        new_plot = build_plot(series)
        with self._lock:
            self._stored_plots[series.id] = series.points, failed_run_ids, new_plot
            self._stored_plots.move_to_end(series.id)
            while len(self._stored_plots) > _MAX_STORED_PLOTS:
                self._stored_plots.popitem(last=False)
        return new_plot


def build_plot(series: SeriesDetail) -> Plot:
    """Compute the plot of a series."""
    return Plot(series.points, series.failures)


def convert_time_to_milliseconds(moment: datetime) -> float:
    """Return a time in milliseconds since 1970, the unit of the chart's axis."""
    return moment.timestamp() * 1000
