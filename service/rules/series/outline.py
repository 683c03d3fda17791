"""A series as it is drawn in the size of a word. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.series.downsample import extremes
from service.schemas.history import Number, View

COLUMNS = 74
"""What a picture of that size can show."""


class SeriesOutline(View):
    """What is drawn: places along the path with their values."""

    count: int
    """Values along the path."""
    points: list[tuple[int, Number]]
    flagged: list[tuple[int, Number, bool]]
    """The first value of each new level, and whether it is for the worse."""


def draw_outline(values: Sequence[Number], flagged: Sequence[tuple[int, bool]] = ()) -> SeriesOutline | None:
    """Draw values small, without losing a step of a single one; None of nothing.

    Parameters
    ----------
    flagged
        Index of the first value of each new level, and whether it is for the worse.
    """
    if not values:
        return None
    kept = sorted({*extremes(COLUMNS, values), len(values) - 1})
    return SeriesOutline(
        count=len(values),
        points=[(index, values[index]) for index in kept],
        flagged=[(index, values[index], worse) for index, worse in flagged if 0 <= index < len(values)],
    )
