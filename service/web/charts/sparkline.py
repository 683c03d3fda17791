"""Sparklines: series in the size of a word, as SVG paths computed on the server."""

from __future__ import annotations

from dataclasses import dataclass

from service.rules.series.outline import SeriesOutline
from service.text.numbers import Number

WIDTH, HEIGHT = 160, 36
_PAD_X, _PAD_Y = 6.0, 7.0


@dataclass(frozen=True, slots=True)
class SparklineMark:
    """A flagged point of a sparkline: a triangle, up for worse and down for better."""

    points: str
    worse: bool


@dataclass(frozen=True, slots=True)
class Sparkline:
    """What the template draws: the line, its last point, and the flagged points."""

    path: str
    last: tuple[float, float]
    marks: tuple[SparklineMark, ...]
    width: int = WIDTH
    height: int = HEIGHT


def sparkline(drawn: SeriesOutline | None) -> Sparkline | None:
    """Draw the outline of a series."""
    if drawn is None:
        return None
    values = [value for _, value in drawn.points]
    low, span = min(values), max(values) - min(values)
    step = (WIDTH - 2 * _PAD_X) / max(1, drawn.count - 1)
    left = _PAD_X if drawn.count > 1 else WIDTH / 2
    rise = (HEIGHT - 2 * _PAD_Y) / (span or 1)
    bottom = HEIGHT - _PAD_Y if span else HEIGHT / 2

    def place(index: int, value: Number) -> tuple[float, float]:
        return round(left + index * step, 1), round(bottom - (value - low) * rise, 1)

    return Sparkline(
        # A page has dozens of sparklines with dozens of points each: one join is faster than a call for each point.
        path="M"
        + " ".join([f"{left + at * step:.1f},{bottom - (value - low) * rise:.1f}" for at, value in drawn.points]),
        last=place(*drawn.points[-1]),
        marks=tuple(_mark(*place(index, value), worse) for index, value, worse in drawn.flagged),
    )


def _mark(x: float, y: float, worse: bool) -> SparklineMark:
    tip, base = (y - 4.5, y + 3.5) if worse else (y + 4.5, y - 3.5)
    return SparklineMark(f"{x:g},{tip:g} {x + 4.5:g},{base:g} {x - 4.5:g},{base:g}", worse)
