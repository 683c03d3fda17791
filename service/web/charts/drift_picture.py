"""Draws one drift, with the runs of its series before and after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from runner.contract.number_text import Number
from service.schemas.history import Direction, Drift, SeriesDetail, SeriesPoint

WIDTH, HEIGHT = 1000, 200
"""Size of the picture, in its own units."""
_RUNS_PER_SIDE = 40
"""Runs that are drawn on each side of the drift."""
_MARGIN_SHARE = 0.16
"""Share of the height that is left free above and below the data, for the marks."""
_LEVEL_OVERHANG = 0.4
"""How far the line of a level extends beyond its outermost run, as a share of the distance between two runs."""


@dataclass(frozen=True, slots=True)
class DriftMark:
    """The place of a drift in percent of the picture: marks keep their shape when the picture is stretched."""

    left: float
    top: float
    worse: bool
    suspected: bool


@dataclass(frozen=True, slots=True)
class DriftPicture:
    """The picture of a drift, laid out for the template.

    Attributes
    ----------
    path, dots
        The line through the runs, and a dot for each.
    levels
        The levels before and after: the left end, the right end, and the height of each.
    band
        The range between the last run before the drift and the first one after it: its left and right end.
    own
        The mark of the drift itself.
    others
        The marks of the series' other drifts in the picture.
    runs
        The number of runs that are drawn.
    first, last
        The commits at the ends of the picture.
    dates
        The days on which these were committed.
    scale
        The highest and the lowest value in the picture, each with its height in percent of the picture.
    """

    path: str
    dots: tuple[tuple[float, float], ...]
    levels: tuple[tuple[float, float, float], ...]
    band: tuple[float, float]
    own: DriftMark
    others: tuple[DriftMark, ...]
    runs: int
    first: str
    last: str
    dates: tuple[str, str]
    scale: tuple[tuple[Number, float], ...]
    width: int = WIDTH
    height: int = HEIGHT


def draw_drift(series: SeriesDetail, drift: Drift) -> DriftPicture | None:
    """Draw a drift among the runs around it; None if its first run is not on the path of the trend."""
    # The runs around the drift.
    path = [point for point in series.points if point.on_path and point.value is not None]
    index_of = {point.run_id: index for index, point in enumerate(path)}
    if drift.run_after not in index_of:
        return None
    index_after = index_of[drift.run_after]
    # If the run before the drift is not on the path, use the point of the path that precedes the drift, if any.
    index_before = index_of.get(drift.run_before, max(0, index_after - 1))
    start = max(0, min(index_before, index_after) - _RUNS_PER_SIDE)
    points = path[start : max(index_before, index_after) + _RUNS_PER_SIDE]
    end = start + len(points)
    # Scales.
    values = [*_list_values(points), drift.before, drift.after]
    low, high = min(values), max(values)
    step = WIDTH / max(1, len(points))

    def x(index: float) -> float:
        return round((index - start + 0.5) * step, 1)

    def y(value: Number) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(HEIGHT * (1 - _MARGIN_SHARE - share * (1 - 2 * _MARGIN_SHARE)), 1)

    dots = tuple((x(start + index), y(value)) for index, value in enumerate(_list_values(points)))
    middle = (index_before + index_after) / 2
    level_start = _find_end_of_level(series.drifts, index_of, index_before, end=start, direction=-1) - _LEVEL_OVERHANG
    level_end = _find_end_of_level(series.drifts, index_of, index_after, end=end - 1, direction=1) + _LEVEL_OVERHANG
    return DriftPicture(
        path="M" + " ".join(f"{left:g},{top:g}" for left, top in dots),
        dots=dots,
        levels=((x(level_start), x(middle), y(drift.before)), (x(middle), x(level_end), y(drift.after))),
        band=(x(min(index_before, index_after)), x(max(index_before, index_after))),
        own=_mark_drift(drift, x(index_after), y(drift.after)),
        others=tuple(
            _mark_drift(other, x(index_of[other.run_after]), y(_get_value(path[index_of[other.run_after]])))
            for other in series.drifts
            if other.id != drift.id and start <= index_of.get(other.run_after, -1) < end
        ),
        runs=len(points),
        first=points[0].revision,
        last=points[-1].revision,
        dates=(f"{points[0].committed_at:%Y-%m-%d}", f"{points[-1].committed_at:%Y-%m-%d}"),
        scale=tuple((value, round(100 * y(value) / HEIGHT, 2)) for value in dict.fromkeys((high, low))),
    )


def _find_end_of_level(drifts: Iterable[Drift], index_of: dict[UUID, int], index: int, end: int, direction: int) -> int:
    """Return the index of the first (``direction`` −1) or last (1) run on the same level as a run, within the picture.

    Parameters
    ----------
    index
        The index of the run.
    end
        The index of the outermost run of the picture in this direction.
    """
    if direction < 0:
        starts = [index_of[drift.run_after] for drift in drifts if drift.run_after in index_of]
        return max([end, *(start for start in starts if start <= index)])
    ends = [index_of[drift.run_before] for drift in drifts if drift.run_before in index_of]
    return min([end, *(last for last in ends if last >= index)])


def _mark_drift(drift: Drift, left: float, top: float) -> DriftMark:
    return DriftMark(
        left=round(100 * left / WIDTH, 2),
        top=round(100 * top / HEIGHT, 2),
        worse=drift.direction is Direction.REGRESSION,
        suspected=drift.evidence.wants_rerun,
    )


def _list_values(points: Iterable[SeriesPoint]) -> list[Number]:
    return [_get_value(point) for point in points]


def _get_value(point: SeriesPoint) -> Number:
    assert point.value is not None
    return point.value
