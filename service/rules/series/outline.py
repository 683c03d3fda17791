"""Reduces a series to an outline that is drawn as a sparkline. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.series.downsample import extremes
from service.schemas.history import Number, View

COLUMNS = 74
"""How many columns a sparkline has."""
MARKS = 32
"""How many marks of one direction have room in it, each half covered by the next."""


class SeriesOutline(View):
    """The drawn points of a series: positions along the path with their values."""

    count: int
    """Number of values along the path."""
    points: list[tuple[int, Number]]
    flagged: list[tuple[int, Number, bool]]
    """The first value of each new level, and whether it is for the worse."""


def draw_outline(values: Sequence[Number], flagged: Sequence[tuple[int, bool]] = ()) -> SeriesOutline | None:
    """Return the outline of values, in which not even a step of a single value is lost; None of no values.

    Parameters
    ----------
    flagged
        Index of the first value of each new level, and whether it is for the worse.
    """
    if not values:
        return None
    drawn = sorted({*extremes(COLUMNS, values), len(values) - 1})
    return SeriesOutline(
        count=len(values),
        points=[(index, values[index]) for index in drawn],
        flagged=[(index, values[index], worse) for index, worse in _apart(flagged, len(values))],
    )


def _apart(flagged: Sequence[tuple[int, bool]], count: int) -> list[tuple[int, bool]]:
    """Return the flags that can be told apart: of those of one direction that cover each other, the newest."""
    slots = {(index * MARKS // count, worse): index for index, worse in flagged if 0 <= index < count}
    return sorted((index, worse) for (_, worse), index in slots.items())
