"""What the drawing of a series has from its points alone, worked out once for as long as they stay the same."""

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

from service.rules.series.downsample import extremes
from service.schemas.history import SeriesDetail, SeriesFailure, SeriesPoint
from service.text.numbers import Number
from service.web.charts.slots import Slots

COLUMNS = 250
"""Columns that a long series is thinned to."""
_KEPT = 16
"""Series whose plots are kept."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the horizontal axis: slots, or milliseconds since 1970 where it is by time."""

    start: float
    end: float
    by_time: bool = False


class Stretch:
    """Points in the order in which they are drawn, and how they are thinned."""

    def __init__(self, points: Sequence[SeriesPoint], slots: Slots) -> None:
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
    def ranged(self) -> bool:
        """Whether the samples of any point lie apart."""
        return self.lows != self.highs

    @cached_property
    def lowest(self) -> Number | None:
        """The lowest sample of all; None where there is none."""
        return min(self.lows, default=None)

    @cached_property
    def times(self) -> list[float]:
        """Time of each point's commit, in milliseconds since 1970."""
        return [milliseconds(point.committed_at) for point in self.points]

    @cached_property
    def places(self) -> list[int]:
        """Slot of each point."""
        return [self._slots.of(point) for point in self.points]

    @cached_property
    def index(self) -> dict[UUID, int]:
        """Place of each run among the points."""
        return {point.run_id: place for place, point in enumerate(self.points)}

    @cached_property
    def _rising(self) -> bool:
        return all(one <= other for one, other in pairwise(self.places))

    @cached_property
    def _all_kept(self) -> list[int]:
        return extremes(COLUMNS, self.values, self.lows, self.highs) if self.points else []

    def thinned(self, window: Window | None) -> list[SeriesPoint]:
        """Return the points of a window that the picture needs, and one beyond each end, so that lines go on."""
        if window is None:
            return [self.points[index] for index in self._all_kept]
        start, end = self._within(window)
        if start == end:
            return []
        start, end = max(0, start - 1), end + 1
        kept = extremes(COLUMNS, self.values[start:end], self.lows[start:end], self.highs[start:end])
        return [self.points[start + index] for index in kept]

    def _within(self, window: Window) -> tuple[int, int]:
        if self._rising and not window.by_time:
            return bisect_left(self.places, window.start), bisect_right(self.places, window.end)
        place = self.times if window.by_time else self.places
        inside = [index for index, at in enumerate(place) if window.start <= at <= window.end]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)


class Plot:
    """The points of a series, each at its slot."""

    def __init__(self, points: Iterable[SeriesPoint], failures: Sequence[SeriesFailure]) -> None:
        drawn: list[SeriesPoint] = []
        aside: list[SeriesPoint] = []
        self.valueless: list[SeriesPoint] = []
        for point in points:
            (self.valueless if point.value is None else drawn if point.on_path else aside).append(point)
        self.slots = Slots(drawn, [*failures, *self.valueless])
        self.path, self.aside = Stretch(drawn, self.slots), Stretch(aside, self.slots)

    @cached_property
    def newest_first(self) -> list[SeriesPoint]:
        """All points: the newest commit first, of one commit what was measured last."""
        points = [*self.path.points, *self.aside.points, *self.valueless]
        return sorted(points, key=lambda point: (point.position, point.measured_at), reverse=True)

    @cached_property
    def _positions(self) -> list[int]:
        return [point.position for point in self.path.points]

    def time_near(self, position: int) -> float:
        """Return the time of the last measured commit before a position: a failure does not carry its own."""
        before = max(0, bisect_right(self._positions, position) - 1)
        return self.path.times[before] if self.path.times else 0.0


class Plots:
    """The plots that were asked for last: each is made anew where its series has other points or failures."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[list[SeriesPoint], list[UUID], Plot]] = OrderedDict()

    def of(self, series: SeriesDetail) -> Plot:
        """Return the plot of a series."""
        failed = [failure.run_id for failure in series.failures]
        with self._lock:
            kept = self._kept.get(series.id)
        # The very same list, which is kept here and therefore no other one: whoever has new points has a new list.
        if kept is not None and kept[0] is series.points and kept[1] == failed:
            return kept[2]
        made = plot(series)
        with self._lock:
            self._kept[series.id] = series.points, failed, made
            self._kept.move_to_end(series.id)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made


def plot(series: SeriesDetail) -> Plot:
    """Put the points of a series at their slots."""
    return Plot(series.points, series.failures)


def milliseconds(moment: datetime) -> float:
    """Return a time as the chart's axis has it."""
    return moment.timestamp() * 1000
