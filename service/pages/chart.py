"""What the trend chart draws: a series put on the axis of the page. Pure: models in, one document out.

Each point of the path has a *slot* of its own, in path order, so that a change of the configuration lies between two
points even where both measured the same commit. Revisions that could not be measured have slots too.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TypedDict
from uuid import UUID

from service.pages.numbers import Number, difference, percent, quantity
from service.views import Drift, SeriesDetail, SeriesFailure, SeriesPoint

Links = Callable[[UUID], str]


class Place(TypedDict):
    """Where something is on both horizontal axes: slot, and milliseconds since 1970."""

    x: float
    t: float


class Dot(Place):
    """A run that has a value."""

    y: Number
    low: Number
    high: Number
    n: int
    commit: str
    title: str
    environment: str
    text: str
    url: str


class Flag(Dot):
    """The first run on a new level."""

    direction: str
    label: str
    why: str


class Gap(Place):
    """A run that has no value, and why."""

    commit: str
    title: str
    text: str
    url: str


class Level(TypedDict):
    """The level that a stretch of the path lies on."""

    x: list[float]
    t: list[float]
    y: Number


class Line(Place):
    """A place on the path where the configuration changes."""

    label: str
    knobs: list[str]


class Chart(TypedDict):
    """Everything that the chart draws."""

    title: str
    unit: str
    whole: bool
    logarithmic: bool
    ranged: bool
    slots: list[str]
    path: list[Dot]
    beside: list[Dot]
    flags: list[Flag]
    gaps: list[Gap]
    levels: list[Level]
    lines: list[Line]


def chart(series: SeriesDetail, run_url: Links) -> Chart:
    """Lay out a series; `run_url` gives the address of a run's page."""
    drawn = [point for point in series.points if point.on_path and point.value is not None]
    aside = [point for point in series.points if not point.on_path and point.value is not None]
    valueless = [point for point in series.points if point.value is None]
    slots = _slots(drawn, [*series.failures, *valueless])
    dot = _DotMaker(series.unit, slots, run_url)
    flagged = {drift.run_after: drift for drift in series.drifts}
    dots = [dot(point) for point in [*drawn, *aside]]
    return {
        "title": series.title,
        "unit": series.unit,
        "whole": series.kind == "count",
        # Zero has no place on a logarithmic axis, and a run with no faults must not vanish.
        "logarithmic": bool(dots) and all(entry["low"] > 0 for entry in dots),
        "ranged": any(entry["low"] != entry["high"] for entry in dots),
        "slots": slots.labels,
        "path": dots[: len(drawn)],
        "beside": dots[len(drawn) :],
        "flags": [_flag(flagged[point.run_id], dot(point)) for point in [*drawn, *aside] if point.run_id in flagged],
        "gaps": [*_failures(series.failures, drawn, slots, run_url), *_without_value(valueless, slots, run_url)],
        # A series that is not judged has no levels: a median of all of it would claim one.
        "levels": _levels(drawn, series.drifts, slots) if series.judged else [],
        "lines": _lines(series, drawn, slots),
    }


class _Slots:
    """Which slot each run has."""

    def __init__(self, order: Sequence[SeriesPoint | SeriesFailure]) -> None:
        self.labels = [entry.revision[:7] for entry in order]
        self._of_run = {entry.run_id: slot for slot, entry in enumerate(order)}
        self._by_position = sorted((entry.position, slot) for slot, entry in enumerate(order))

    def of(self, entry: SeriesPoint | SeriesFailure) -> int:
        """Return the run's own slot, or for a point beside the path that of the same or the next revision on it."""
        own = self._of_run.get(entry.run_id)
        if own is not None:
            return own
        place = bisect_left(self._by_position, (entry.position, -1))
        return self._by_position[min(place, len(self._by_position) - 1)][1] if self._by_position else 0


def _slots(path: Sequence[SeriesPoint], valueless: Iterable[SeriesPoint | SeriesFailure]) -> _Slots:
    order: list[SeriesPoint | SeriesFailure] = list(path)
    for entry in sorted(valueless, key=lambda entry: entry.position):
        later = (slot for slot, other in enumerate(order) if other.position > entry.position)
        order.insert(next(later, len(order)), entry)
    return _Slots(order)


class _DotMaker:
    def __init__(self, unit: str, slots: _Slots, run_url: Links) -> None:
        self._unit, self._slots, self._run_url = unit, slots, run_url

    def __call__(self, point: SeriesPoint) -> Dot:
        assert point.value is not None
        return {
            "x": self._slots.of(point),
            "t": _milliseconds(point.committed_at),
            "y": point.value,
            "low": point.value if point.low is None else point.low,
            "high": point.value if point.high is None else point.high,
            "n": point.n,
            "commit": point.revision[:10],
            "title": point.title,
            "environment": point.environment[:8],
            "text": quantity(point.value, self._unit) + (", in quarantine" if point.quarantine else ""),
            "url": self._run_url(point.run_id),
        }


def _flag(drift: Drift, dot: Dot) -> Flag:
    size = difference(drift.change, drift.unit)
    share = f" ({percent(drift.percent)})" if drift.percent is not None else ""
    return {**dot, "direction": drift.direction.value, "label": size, "why": f"{drift.direction}: {size}{share}"}


def _failures(
    failures: Iterable[SeriesFailure], path: Sequence[SeriesPoint], slots: _Slots, run_url: Links
) -> list[Gap]:
    return [
        {
            "x": slots.of(failure),
            "t": _time_near(failure.position, path),
            "commit": failure.revision[:10],
            "title": failure.title,
            "text": f"failed at {failure.stage}: {failure.message}",
            "url": run_url(failure.run_id),
        }
        for failure in failures
    ]


def _without_value(points: Iterable[SeriesPoint], slots: _Slots, run_url: Links) -> list[Gap]:
    return [
        {
            "x": slots.of(point),
            "t": _milliseconds(point.committed_at),
            "commit": point.revision[:10],
            "title": point.title,
            "text": point.status.value.replace("_", " "),
            "url": run_url(point.run_id),
        }
        for point in points
    ]


def _levels(drawn: Sequence[SeriesPoint], drifts: Iterable[Drift], slots: _Slots) -> list[Level]:
    """Return one level for each stretch between two drifts."""
    if not drawn:
        return []
    index = {point.run_id: place for place, point in enumerate(drawn)}
    found = sorted(
        ((index[drift.run_after], drift) for drift in drifts if {drift.run_before, drift.run_after} <= index.keys()),
        key=lambda entry: entry[0],
    )
    bounds = [0, *(start for start, _ in found), len(drawn)]
    values = [found[0][1].before, *(drift.after for _, drift in found)] if found else [_middle(drawn)]
    levels: list[Level] = []
    for (start, end), value in zip(pairwise(bounds), values, strict=True):
        stretch = drawn[start:end]
        if stretch:
            times = [_milliseconds(point.committed_at) for point in stretch]
            levels.append(
                {
                    "x": [slots.of(stretch[0]), slots.of(stretch[-1])],
                    "t": [min(times), max(times)],
                    "y": value,
                }
            )
    return levels


def _lines(series: SeriesDetail, path: Sequence[SeriesPoint], slots: _Slots) -> list[Line]:
    points = {point.run_id: point for point in path}
    lines: list[Line] = []
    for change in series.changes:
        before, after = points.get(change.run_before), points.get(change.run_after)
        if before is None or after is None:
            continue
        lines.append(
            {
                "x": slots.of(after) - 0.5,
                "t": (_milliseconds(before.committed_at) + _milliseconds(after.committed_at)) / 2,
                "label": _few([knob.name for knob in change.knobs]),
                "knobs": [f"{knob.name}: {_shown(knob.before)} → {_shown(knob.after)}" for knob in change.knobs],
            }
        )
    return lines


def _few(names: Sequence[str]) -> str:
    if not names:
        return "environment"
    return names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}"


def _middle(points: Iterable[SeriesPoint]) -> Number:
    return statistics.median(point.value for point in points if point.value is not None)


def _time_near(position: int, path: Sequence[SeriesPoint]) -> float:
    """Return the time of the last measured commit before a position: a failure does not carry its own."""
    earlier = [point for point in path if point.position <= position] or path[:1]
    return _milliseconds(earlier[-1].committed_at) if earlier else 0.0


def _milliseconds(moment: datetime) -> float:
    return moment.timestamp() * 1000


def _shown(value: str | None) -> str:
    return "not set" if value is None else value or "empty"
