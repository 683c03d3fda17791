"""Draws a series as a sparkline: a chart of the size of a word.

A list shows dozens of sparklines, so they are drawn once, when a series is judged, and stored as SVG paths.
"""

from __future__ import annotations

from collections.abc import Sequence

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


class Sparkline(View):
    """The paths of a sparkline in a box of :data:`WIDTH` × :data:`HEIGHT`."""

    line: str
    last: tuple[float, float]
    """The newest value."""
    worse: str
    """A triangle for each new level that is for the worse. Each stands on its base."""
    better: str
    """A triangle for each new level that is for the better. Each stands on its tip."""
    flagged: int
    """Number of new levels, including those for whose marks there is no room."""


def draw_sparkline(values: Sequence[Number], flagged_points: Sequence[tuple[int, bool]] = ()) -> Sparkline | None:
    """Return the sparkline of values, in which even a single different value is visible; None if there are no values.

    Parameters
    ----------
    flagged_points
        Index of the first value of each new level, and whether it is for the worse.
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
    marks = [
        (*place_point(index), is_worse)
        for index, is_worse in _select_distinguishable_flags(flagged_points, len(values))
    ]
    # A mark is a triangle, 9 wide and 8 high, whose tip or base is 4.5 from its point.
    return Sparkline(
        line="M" + " ".join(f"{x:g},{y:g}" for x, y in map(place_point, indices)),
        last=place_point(len(values) - 1),
        worse="".join(f"M{x:g},{y - 4.5:g}l4.5,8h-9z" for x, y, is_worse in marks if is_worse),
        better="".join(f"M{x:g},{y + 4.5:g}l4.5,-8h-9z" for x, y, is_worse in marks if not is_worse),
        flagged=len(flagged_points),
    )


def _select_distinguishable_flags(flagged_points: Sequence[tuple[int, bool]], n_values: int) -> list[tuple[int, bool]]:
    """Return the flags to draw: if several of one direction would cover each other, only the newest of them."""
    newest_in_slot = {
        (index * MAX_MARKS // n_values, is_worse): index for index, is_worse in flagged_points if 0 <= index < n_values
    }
    return sorted((index, is_worse) for (_, is_worse), index in newest_in_slot.items())
