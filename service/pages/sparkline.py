"""A series in the size of a word: an SVG path computed on the server.

More values than the picture has columns are thinned to each column's lowest and highest, so a step of a single
point is never lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.pages.numbers import Number
from service.pages.thin import extremes

WIDTH, HEIGHT = 160, 36
_PAD_X, _PAD_Y = 6.0, 7.0
_COLUMNS = 74


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


def sparkline(values: Sequence[Number], flagged: Sequence[tuple[int, bool]] = ()) -> Sparkline | None:
    """Draw values; `flagged` holds the index of each point to mark and whether it is for the worse."""
    if not values:
        return None
    low, high = min(values), max(values)
    span = high - low

    def place(index: int) -> tuple[float, float]:
        share_x = index / (len(values) - 1) if len(values) > 1 else 0.5
        share_y = (values[index] - low) / span if span else 0.5
        return (
            round(_PAD_X + share_x * (WIDTH - 2 * _PAD_X), 1),
            round(HEIGHT - _PAD_Y - share_y * (HEIGHT - 2 * _PAD_Y), 1),
        )

    points = [place(index) for index in extremes(_COLUMNS, values)]
    return Sparkline(
        path="M" + " ".join(f"{x:g},{y:g}" for x, y in points),
        last=place(len(values) - 1),
        marks=tuple(_mark(*place(index), worse) for index, worse in flagged if 0 <= index < len(values)),
    )


def _mark(x: float, y: float, worse: bool) -> Mark:
    tip, base = (y - 4.5, y + 3.5) if worse else (y + 4.5, y - 3.5)
    return Mark(f"{x:g},{tip:g} {x + 4.5:g},{base:g} {x - 4.5:g},{base:g}", worse)
