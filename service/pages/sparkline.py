"""A series in the size of a word: an SVG path computed on the server."""

from __future__ import annotations

from dataclasses import dataclass

from service.outline import Outline
from service.pages.numbers import Number

WIDTH, HEIGHT = 160, 36
_PAD_X, _PAD_Y = 6.0, 7.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A flagged point of a sparkline: a triangle, up for worse and down for better."""

    points: str
    worse: bool


@dataclass(frozen=True, slots=True)
class Sparkline:
    """What the template draws: the line, its last point, and the flagged points."""

    path: str
    last: tuple[float, float]
    marks: tuple[Mark, ...]
    width: int = WIDTH
    height: int = HEIGHT


def sparkline(drawn: Outline | None) -> Sparkline | None:
    """Draw the outline of a series."""
    if drawn is None:
        return None
    values = [value for _, value in drawn.points]
    low, span = min(values), max(values) - min(values)

    def place(index: int, value: Number) -> tuple[float, float]:
        share_x = index / (drawn.count - 1) if drawn.count > 1 else 0.5
        share_y = (value - low) / span if span else 0.5
        return (
            round(_PAD_X + share_x * (WIDTH - 2 * _PAD_X), 1),
            round(HEIGHT - _PAD_Y - share_y * (HEIGHT - 2 * _PAD_Y), 1),
        )

    return Sparkline(
        path="M" + " ".join(f"{x:g},{y:g}" for x, y in (place(*point) for point in drawn.points)),
        last=place(*drawn.points[-1]),
        marks=tuple(_mark(*place(index, value), worse) for index, value, worse in drawn.flagged),
    )


def _mark(x: float, y: float, worse: bool) -> Mark:
    tip, base = (y - 4.5, y + 3.5) if worse else (y + 4.5, y - 3.5)
    return Mark(f"{x:g},{tip:g} {x + 4.5:g},{base:g} {x - 4.5:g},{base:g}", worse)
