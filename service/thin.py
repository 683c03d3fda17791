"""Which of many points a picture needs: the extremes of each of its columns, so that no step is ever lost. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from service.views import Number


def extremes(columns: int, *measures: Sequence[Number]) -> list[int]:
    """Return the indices of the lowest and the highest value of each measure in each column, in order.

    All of them where there are no more than two for each column.

    Parameters
    ----------
    columns
        How many columns the picture has.
    measures
        What is drawn of each point, such as its level and the ends of its range: all of one length.
    """
    count = len(measures[0])
    if count <= 2 * columns:
        return list(range(count))
    kept: list[int] = []
    for column in range(columns):
        cells = range(column * count // columns, (column + 1) * count // columns)
        found = {pick(cells, key=measure.__getitem__) for measure in measures for pick in (min, max)}
        kept += sorted(found)
    return kept
