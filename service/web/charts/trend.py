"""Builds the data of the trend chart: a series, laid out on the axis of the page.

The *path* is the sequence of points along which the trend is drawn and judged; other points lie beside it.

Each point of the path has a *slot* of its own, in path order, so that a configuration change lies between two points
even if both are runs of the same commit. Revisions that could not be measured have slots as well.

A long series is thinned to the extremes of each column of the picture. A zoomed window is thinned separately, so that
zooming reveals more points.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, TypedDict
from uuid import UUID

from runner.contract.number_text import Number, Scale, choose_scale, format_difference, format_percent, format_quantity
from service.schemas.history import Drift, SeriesDetail, SeriesFailure, SeriesPoint
from service.text.setting_words import (
    describe_new_value,
    describe_setting_change,
    describe_setting_changes,
    rank_setting_changes,
    weigh_setting_changes,
)
from service.web.charts.axis_slots import OverlaidSlots, Slots
from service.web.charts.chart_points import (
    MAX_COLUMNS,
    DrawnPoints,
    Plot,
    Window,
    build_plot,
    convert_time_to_milliseconds,
)

MakeRunUrl = Callable[[UUID], str]
_MAX_SHORT_CHARACTERS = 24
"""Largest number of characters of the short label of a configuration change."""
_SMALLEST_LEVEL = 1e-9
"""The divisor of a relative change from a level of zero."""


class AxisPlace(TypedDict):
    """A place on both horizontal axes: the slot, and milliseconds since 1970."""

    x: float
    t: float


class Dot(AxisPlace):
    """A run that has a value."""

    y: Number
    low: Number
    high: Number
    n: int
    commit: str
    title: str
    text: str
    change: str
    """The change from the previous run on the path; empty for the first run and for runs beside the path."""
    url: str


class FlaggedDot(Dot):
    """The first run on a new level."""

    direction: str
    standing: str
    """Whether somebody still has to decide: ``open``, ``suspected`` (also open, but not certain), ``accepted`` or
    ``closed``."""
    weight: float
    """The relative change of the level. Where labels overlap, those of larger changes are kept."""
    label: str
    verdict: str


class Gap(AxisPlace):
    """A run that has no value, and why."""

    commit: str
    title: str
    text: str
    url: str


class LevelLine(TypedDict):
    """The level of a section of the path."""

    x: list[float]
    t: list[float]
    y: Number


class ConfigLine(AxisPlace):
    """A vertical line on the path where the configuration changes."""

    label: str
    short: str
    """The label with the new value only, for lack of room."""
    settings: list[str]
    """The changed settings in a few words each, the most informative first."""
    weight: float
    """The importance of the change: where labels overlap, that of an upgrade is kept before that of a variable."""


class OverlaidSeries(TypedDict):
    """A series that is overlaid on the series of the page."""

    id: int
    title: str
    label: str
    """What distinguishes it from the series of the page."""
    host: str
    whole: bool
    unit: str
    logarithmic: bool
    start: Number | None
    thinned: bool
    """Whether the chart draws only a part of its runs."""
    path: list[Dot]


class Chart(TypedDict):
    """Everything that the chart draws."""

    title: str
    host: str
    unit: str
    whole: bool
    logarithmic: bool
    ranged: bool
    start: Number | None
    slots: int
    runs: int
    thinned: bool
    path: list[Dot]
    beside: list[Dot]
    flags: list[FlaggedDot]
    gaps: list[Gap]
    levels: list[LevelLine]
    lines: list[ConfigLine]
    others: list[OverlaidSeries]


def build_chart(  # noqa: PLR0917 - what a chart is made of
    series: SeriesDetail,
    run_url: MakeRunUrl,
    window: Window | None = None,
    overlaid_series: Iterable[SeriesDetail] = (),
    get_plot: Callable[[SeriesDetail], Plot] = build_plot,
    standings: Mapping[str, str] = MappingProxyType({}),
) -> Chart:
    """Build the data of a series' trend chart.

    The path consists of the points along which the trend is drawn and judged; all other points lie beside it.

    Parameters
    ----------
    run_url
        Returns the address of the page of a run.
    window
        The zoomed part; None for the whole series.
    overlaid_series
        Series to overlay, each at its own commits.
    get_plot
        Computes the plot of a series, or returns a stored one.
    standings
        ``accepted`` or ``closed`` for each drift that somebody has decided on, by id.
    """
    plot = get_plot(series)
    path, off_path, slots = plot.path, plot.off_path, plot.slots
    scale = _choose_scale([path, off_path], series.unit)
    make_dot = _DotMaker(series.unit, scale, plot, run_url)
    thinned_path, thinned_off_path = path.thin(window), off_path.thin(window)
    lowest = min(
        (drawn_points.lowest for drawn_points in (path, off_path) if drawn_points.lowest is not None), default=0
    )
    flagged_drifts = [*_list_flagged_drifts(series.drifts, path), *_list_flagged_drifts(series.drifts, off_path)]
    gaps = [
        *_list_failures(series.failures, plot, run_url),
        *_list_gaps(plot.valueless, slots, run_url),
    ]
    others = [
        _build_overlaid_series(other, series, slots, run_url, window, {series.unit: scale}) for other in overlaid_series
    ]
    is_thinned = len(thinned_path) < len(path.points) or len(thinned_off_path) < len(off_path.points)
    return {
        "title": series.title,
        "host": series.host,
        "unit": scale.unit,
        "whole": series.kind == "count" and scale.divisor == 1,  # whether its values are whole numbers
        # A logarithmic axis cannot show zero, and a run without faults must stay visible.
        "logarithmic": lowest > 0,
        "ranged": path.has_ranges or off_path.has_ranges,
        # The values can also be shown in percent of the first one.
        "start": scale_value(path.values[0], scale) if path.values else None,
        "slots": slots.count,
        "runs": len(path.points),
        "thinned": window is not None or is_thinned or any(other["thinned"] for other in others),
        "path": [make_dot(point) for point in thinned_path],
        "beside": [make_dot(point) for point in thinned_off_path],
        "flags": [_flag_drift(drift, make_dot(point), standings.get(drift.id, "")) for drift, point in flagged_drifts],
        "gaps": _thin_gaps(gaps, slots.count),
        # A series that is not judged has no levels, and a median of all points would look like one.
        "levels": _list_levels(path, series.drifts, scale) if series.judged else [],
        "lines": _list_lines(series, path),
        "others": others,
    }


def _list_flagged_drifts(drifts: Iterable[Drift], drawn_points: DrawnPoints) -> list[tuple[Drift, SeriesPoint]]:
    """Return the drifts that begin at one of some points, in the order of these points, each with its point."""
    flagged_drifts = [drift for drift in drifts if drift.run_after in drawn_points.index_of_run]
    flagged_drifts.sort(key=lambda drift: drawn_points.index_of_run[drift.run_after])
    return [(drift, drawn_points.points[drawn_points.index_of_run[drift.run_after]]) for drift in flagged_drifts]


def _choose_scale(point_groups: Iterable[DrawnPoints], unit: str) -> Scale:
    """Return the scale that keeps the values of a chart short, for example MiB instead of bytes."""
    largest_value = max((abs(value) for drawn_points in point_groups for value in drawn_points.values), default=0)
    return choose_scale(largest_value, unit) or Scale(1, unit)


def scale_value(value: Number, scale: Scale) -> Number:
    """Return a value in the unit of a chart. A count stays an integer."""
    return value if scale.divisor == 1 else value / scale.divisor


def _build_overlaid_series(  # noqa: PLR0917 - what an overlaid series is made of
    series: SeriesDetail,
    below: SeriesDetail,
    slots: Slots,
    run_url: MakeRunUrl,
    window: Window | None,
    scales: Mapping[str, Scale],
) -> OverlaidSeries:
    """Return the data of a series that the chart overlays.

    Parameters
    ----------
    below
        The series of the page.
    scales
        The scales of the chart, by the unit of a series: a series with another unit gets a scale of its own.
    """
    path = [point for point in series.points if point.on_path and point.value is not None]
    overlaid_slots = OverlaidSlots(slots, path)
    drawn_points = DrawnPoints(path, overlaid_slots)
    plot = OverlaidPlot(drawn_points, overlaid_slots)
    scale = scales.get(series.unit) or _choose_scale([drawn_points], series.unit)
    make_dot = _DotMaker(series.unit, scale, plot, run_url)
    thinned_path = drawn_points.thin(window)
    return {
        "id": series.id,
        "title": f"{series.title} of {series.case} on {series.host}",
        "label": _describe_difference(series, below),
        "host": series.host,
        "whole": series.kind == "count" and scale.divisor == 1,
        "unit": scale.unit,
        "logarithmic": drawn_points.lowest is None or drawn_points.lowest > 0,
        "start": scale_value(drawn_points.values[0], scale) if drawn_points.values else None,
        "thinned": len(thinned_path) < len(drawn_points.points),
        "path": [make_dot(point) for point in thinned_path],
    }


def _describe_difference(series: SeriesDetail, below: SeriesDetail) -> str:
    """Return what distinguishes a series from another one of the same subject: its metric, case or host."""
    words = [
        series.title if series.metric != below.metric else "",
        f"of {series.case}" if series.case != below.case else "",
        f"on {series.host}" if series.host != below.host else "",
    ]
    return " ".join(filter(None, words)) or series.title


def _thin_gaps(gaps: list[Gap], n_slots: int) -> list[Gap]:
    """Return at most one gap for each half of a column, so that gaps do not cover each other."""
    slots_per_gap = max(1.0, n_slots / (2 * MAX_COLUMNS))
    return list({int(gap["x"] / slots_per_gap): gap for gap in gaps}.values())


def _get_low(point: SeriesPoint) -> Number:
    assert point.value is not None
    return point.value if point.low is None else point.low


def _get_high(point: SeriesPoint) -> Number:
    assert point.value is not None
    return point.value if point.high is None else point.high


class OverlaidPlot(NamedTuple):
    """The plot of an overlaid series: its own path, on the slots of the series below it."""

    path: DrawnPoints
    slots: OverlaidSlots


class _DotMaker:
    """Turns points of one series into the dots of its chart."""

    def __init__(self, unit: str, scale: Scale, plot: Plot | OverlaidPlot, run_url: MakeRunUrl) -> None:
        self._unit, self._scale, self._plot, self._run_url = unit, scale, plot, run_url

    def __call__(self, point: SeriesPoint) -> Dot:
        """Return the dot of a point that has a value, with its place on both axes and its texts."""
        assert point.value is not None
        return {
            "x": self._plot.slots.find_slot(point),
            "t": convert_time_to_milliseconds(point.committed_at),
            "y": scale_value(point.value, self._scale),
            "low": scale_value(_get_low(point), self._scale),
            "high": scale_value(_get_high(point), self._scale),
            "n": point.n,
            "commit": point.revision[:10],
            "title": point.title,
            "text": format_quantity(point.value, self._unit) + _describe_remark(point),
            "change": self._describe_change(point),
            "url": self._run_url(point.run_id),
        }

    def _describe_change(self, point: SeriesPoint) -> str:
        """Return the change from the previous run on the path of the trend.

        Empty for the first run of the path, and for points beside the path.
        """
        path = self._plot.path
        index = path.index_of_run.get(point.run_id)
        if index is None or index == 0:
            return ""
        before, value = path.values[index - 1], path.values[index]
        if value == before:
            return "same as the previous run"
        share = f" ({format_percent(100 * (value - before) / abs(before))})" if before else ""
        return f"{format_difference(value - before, self._unit)}{share} from the previous run"


def _describe_remark(point: SeriesPoint) -> str:
    if point.reused:
        return ", reused from a run with the same bytes"
    return ", in quarantine" if point.quarantine else ""


def _flag_drift(drift: Drift, dot: Dot, standing: str) -> FlaggedDot:
    """Return the flag of a drift in the chart: the dot of its first run, with a label.

    Parameters
    ----------
    standing
        ``accepted`` or ``closed``; empty if nobody has decided on the drift.
    """
    standing = standing or ("suspected" if drift.evidence.wants_rerun else "open")
    size = format_difference(drift.change, drift.unit)
    share = f" ({format_percent(drift.percent)})" if drift.percent is not None else ""
    decision_clause = "" if standing == "open" else f", {standing}"
    return {
        **dot,
        "direction": drift.direction.value,
        "standing": standing,
        "weight": abs(drift.change) / max(abs(drift.before), abs(drift.after), _SMALLEST_LEVEL),
        "label": size,
        "verdict": f"{drift.direction}{decision_clause}: {size}{share}",
    }


def _list_failures(failures: Iterable[SeriesFailure], plot: Plot, run_url: MakeRunUrl) -> list[Gap]:
    """Return the failed runs of a series as gaps in its chart."""
    return [
        {
            "x": plot.slots.find_slot(failure),
            "t": plot.find_previous_time(failure.position),
            "commit": failure.revision[:10],
            "title": failure.title,
            "text": f"{failure.stage.noun} failed: {failure.message}",
            "url": run_url(failure.run_id),
        }
        for failure in failures
    ]


def _list_gaps(points: Iterable[SeriesPoint], slots: Slots, run_url: MakeRunUrl) -> list[Gap]:
    """Return the points without a value as gaps in the chart."""
    return [
        {
            "x": slots.find_slot(point),
            "t": convert_time_to_milliseconds(point.committed_at),
            "commit": point.revision[:10],
            "title": point.title,
            "text": point.status.value.replace("_", " "),
            "url": run_url(point.run_id),
        }
        for point in points
    ]


def _list_levels(path: DrawnPoints, drifts: Iterable[Drift], scale: Scale) -> list[LevelLine]:
    """Return the level of each section between two drifts: the median of its points, which its drifts state as well."""
    starts = {
        path.index_of_run[drift.run_after]
        for drift in drifts
        if drift.run_before in path.index_of_run and drift.run_after in path.index_of_run
    }
    bounds = sorted({0, *starts, len(path.points)})
    return [
        {
            "x": [path.slot_numbers[start], path.slot_numbers[end - 1]],
            "t": [min(path.times[start:end]), max(path.times[start:end])],
            "y": scale_value(statistics.median(path.values[start:end]), scale),
        }
        for start, end in pairwise(bounds)
    ]


def _list_lines(series: SeriesDetail, path: DrawnPoints) -> list[ConfigLine]:
    """Return the configuration changes along the path as vertical lines of the chart."""
    lines: list[ConfigLine] = []
    for change in series.changes:
        before, after = path.index_of_run.get(change.run_before), path.index_of_run.get(change.run_after)
        if before is None or after is None:
            continue
        lines.append(
            {
                "x": path.slot_numbers[after] - 0.5,  # midway between the slots of the two runs
                "t": path.times[after],  # when the new setting was first seen
                "label": describe_setting_changes(change.settings),
                "short": describe_new_value(change.settings, _MAX_SHORT_CHARACTERS),
                "settings": [describe_setting_change(setting) for setting in rank_setting_changes(change.settings)],
                "weight": weigh_setting_changes(change.settings),
            }
        )
    return lines
