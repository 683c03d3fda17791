"""Draws a series as a sparkline: a chart of the size of a word.

A list shows dozens of sparklines, so they are drawn once, when a series is judged, and stored as SVG paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.rules.series.downsample import find_extremes
from service.schemas.history import Number, View

WIDTH, HEIGHT = 160, 36
"""Size of the picture, in its own units, like all lengths here."""
COLUMNS = 74
"""Number of columns of points."""
MAX_MARKS = 32
"""How many marks of one direction fit if each is half covered by the next."""
_PAD_X, _PAD_Y = 6.0, 7.0
"""Room at the edges for the marks, which extend up to 4.5 from their points."""


@dataclass(frozen=True, order=True, slots=True)
class Flag:
    """The first value of a new level.

    Attributes
    ----------
    index
        Its index among the values.
    is_certain
        Whether no further run has to confirm the change.
    """

    index: int
    is_worse: bool
    is_certain: bool = True


class Sparkline(View):
    """The paths of a sparkline in a box of :data:`WIDTH` × :data:`HEIGHT`."""

    line: str
    last: tuple[float, float]
    """The newest value."""
    worse: str
    """A triangle for each new level that is certainly for the worse. Each stands on its base."""
    better: str
    """A triangle for each new level that is certainly for the better. Each stands on its tip."""
    suspected_worse: str = ""
    suspected_better: str = ""
    """Triangles for new levels that further runs still have to confirm."""
    flagged: int
    """Number of new levels, including those for whose marks there is no room."""


def draw_sparkline(values: Sequence[Number], flags: Sequence[Flag] = ()) -> Sparkline | None:
    """Return the sparkline of values, in which even a single different value is visible; None if there are no values.

    Parameters
    ----------
    flags
        The new levels.
    """
    if not values:
        return None
    low, value_range = min(values), max(values) - min(values)
    x_step = (WIDTH - 2 * _PAD_X) / max(1, len(values) - 1)
    first_x = _PAD_X if len(values) > 1 else WIDTH / 2
    y_scale = (HEIGHT - 2 * _PAD_Y) / (value_range or 1)
    lowest_y = HEIGHT - _PAD_Y if value_range else HEIGHT / 2

    def place_point(index: int) -> tuple[float, float]:
        return round(first_x + index * x_step, 1), round(lowest_y - (values[index] - low) * y_scale, 1)

    indices = sorted({*find_extremes(COLUMNS, values), len(values) - 1})
    drawn_flags = _select_distinguishable_flags(flags, len(values))

    def draw_marks(*, is_worse: bool, is_certain: bool) -> str:
        chosen = [flag for flag in drawn_flags if (flag.is_worse, flag.is_certain) == (is_worse, is_certain)]
        # A mark is a triangle, 9 wide and 8 high, whose tip or base is 4.5 from its point.
        up = 1 if is_worse else -1
        return "".join(f"M{x:g},{y - 4.5 * up:g}l4.5,{8 * up}h-9z" for x, y in (place_point(f.index) for f in chosen))

    return Sparkline(
        line="M" + " ".join(f"{x:g},{y:g}" for x, y in map(place_point, indices)),
        last=place_point(len(values) - 1),
        worse=draw_marks(is_worse=True, is_certain=True),
        better=draw_marks(is_worse=False, is_certain=True),
        suspected_worse=draw_marks(is_worse=True, is_certain=False),
        suspected_better=draw_marks(is_worse=False, is_certain=False),
        flagged=len(flags),
    )


def _select_distinguishable_flags(flags: Sequence[Flag], n_values: int) -> list[Flag]:
    """Return the flags to draw: if several of one direction would cover each other, only the newest of them."""
    newest_in_slot = {
        (flag.index * MAX_MARKS // n_values, flag.is_worse): flag for flag in flags if 0 <= flag.index < n_values
    }
    return sorted(newest_in_slot.values())
