"""What the trend chart draws: a series put on the axis of the page. Pure: models in, one document out.

Each point of the path has a *slot* of its own, in path order, so that a change of the configuration lies between two
points even where both measured the same commit. Revisions that could not be measured have slots too.

A long series is thinned to the extremes of each column of the picture; where one looks closer, that window of it is
laid out anew.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TypedDict
from uuid import UUID

from service.pages.numbers import Number, difference, percent, quantity
from service.pages.slots import Slots
from service.thin import extremes
from service.views import Drift, SeriesDetail, SeriesFailure, SeriesPoint

Links = Callable[[UUID], str]

COLUMNS = 250
"""Columns that a long series is thinned to."""


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


class Other(TypedDict):
    """A series that is laid over the one of the page."""

    id: int
    title: str
    unit: str
    logarithmic: bool
    path: list[Dot]


class Chart(TypedDict):
    """Everything that the chart draws."""

    title: str
    unit: str
    whole: bool
    logarithmic: bool
    ranged: bool
    slots: int
    runs: int
    thinned: bool
    path: list[Dot]
    beside: list[Dot]
    flags: list[Flag]
    gaps: list[Gap]
    levels: list[Level]
    lines: list[Line]
    others: list[Other]


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the horizontal axis: slots, or milliseconds since 1970 where it is by time."""

    start: float
    end: float
    by_time: bool = False


def chart(
    series: SeriesDetail, run_url: Links, window: Window | None = None, beside: Iterable[SeriesDetail] = ()
) -> Chart:
    """Lay out a series.

    Parameters
    ----------
    run_url
        Gives the address of a run's page.
    window
        The part that is looked at; None for all of it.
    beside
        Series to lay over this one, each at its own commits.
    """
    drawn, aside, valueless = _sorted_out(series.points)
    slots = Slots(drawn, [*series.failures, *valueless])
    dot = _DotMaker(series.unit, slots, run_url)
    flagged = {drift.run_after: drift for drift in series.drifts}
    path = _thinned(drawn, slots, window)
    gaps = [*_failures(series.failures, drawn, slots, run_url), *_without_value(valueless, slots, run_url)]
    return {
        "title": series.title,
        "unit": series.unit,
        "whole": series.kind == "count",
        # Zero has no place on a logarithmic axis, and a run with no faults must not vanish.
        "logarithmic": bool(drawn or aside) and min(map(_low, (*drawn, *aside))) > 0,
        "ranged": any(map(_is_ranged, (*drawn, *aside))),
        "slots": slots.count,
        "runs": len(drawn),
        "thinned": window is not None or len(path) < len(drawn),
        "path": [dot(point) for point in path],
        "beside": [dot(point) for point in _thinned(aside, slots, window)],
        "flags": [_flag(flagged[point.run_id], dot(point)) for point in [*drawn, *aside] if point.run_id in flagged],
        "gaps": _one_a_column(gaps, slots.count),
        # A series that is not judged has no levels: a median of all of it would claim one.
        "levels": _levels(drawn, series.drifts, slots) if series.judged else [],
        "lines": _lines(series, drawn, slots),
        "others": [_other(other, slots, run_url, window) for other in beside],
    }


def _sorted_out(points: Iterable[SeriesPoint]) -> tuple[list[SeriesPoint], list[SeriesPoint], list[SeriesPoint]]:
    """Return the points of the path, those beside it, and those without a value."""
    drawn: list[SeriesPoint] = []
    aside: list[SeriesPoint] = []
    valueless: list[SeriesPoint] = []
    for point in points:
        (valueless if point.value is None else drawn if point.on_path else aside).append(point)
    return drawn, aside, valueless


def _other(series: SeriesDetail, slots: Slots, run_url: Links, window: Window | None) -> Other:
    points = [point for point in series.points if point.on_path and point.value is not None]
    dot = _DotMaker(series.unit, slots, run_url)
    return {
        "id": series.id,
        "title": f"{series.title} of {series.case} on {series.host}",
        "unit": series.unit,
        "logarithmic": all(_low(point) > 0 for point in points),
        "path": [dot(point) for point in _thinned(points, slots, window)],
    }


def _thinned(points: Sequence[SeriesPoint], slots: Slots, window: Window | None) -> list[SeriesPoint]:
    """Return the points of a window that the picture needs, and one beyond each end, so that lines go on."""
    if window is not None:
        place = [_milliseconds(point.committed_at) if window.by_time else slots.of(point) for point in points]
        inside = [index for index, at in enumerate(place) if window.start <= at <= window.end]
        points = points[max(0, inside[0] - 1) : inside[-1] + 2] if inside else []
    if not points:
        return []
    values = [point.value or 0 for point in points]
    kept = extremes(COLUMNS, values, [_low(point) for point in points], [_high(point) for point in points])
    return [points[index] for index in kept]


def _one_a_column(gaps: list[Gap], slots: int) -> list[Gap]:
    """Leave out gaps that would cover each other."""
    width = max(1.0, slots / (2 * COLUMNS))
    return list({int(gap["x"] / width): gap for gap in gaps}.values())


def _is_ranged(point: SeriesPoint) -> bool:
    return point.low != point.high


def _low(point: SeriesPoint) -> Number:
    assert point.value is not None
    return point.value if point.low is None else point.low


def _high(point: SeriesPoint) -> Number:
    assert point.value is not None
    return point.value if point.high is None else point.high


class _DotMaker:
    def __init__(self, unit: str, slots: Slots, run_url: Links) -> None:
        self._unit, self._slots, self._run_url = unit, slots, run_url

    def __call__(self, point: SeriesPoint) -> Dot:
        assert point.value is not None
        return {
            "x": self._slots.of(point),
            "t": _milliseconds(point.committed_at),
            "y": point.value,
            "low": _low(point),
            "high": _high(point),
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
    failures: Iterable[SeriesFailure], path: Sequence[SeriesPoint], slots: Slots, run_url: Links
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


def _without_value(points: Iterable[SeriesPoint], slots: Slots, run_url: Links) -> list[Gap]:
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


def _levels(drawn: Sequence[SeriesPoint], drifts: Sequence[Drift], slots: Slots) -> list[Level]:
    """Return one level for each stretch between two drifts."""
    if not drawn:
        return []
    index = {point.run_id: place for place, point in enumerate(drawn)} if drifts else {}
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
            times = [point.committed_at for point in stretch]
            levels.append(
                {
                    "x": [slots.of(stretch[0]), slots.of(stretch[-1])],
                    "t": [_milliseconds(min(times)), _milliseconds(max(times))],
                    "y": value,
                }
            )
    return levels


def _lines(series: SeriesDetail, path: Sequence[SeriesPoint], slots: Slots) -> list[Line]:
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
