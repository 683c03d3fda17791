"""Which of many points a picture needs: the extremes of each of its columns, so that no step is ever lost. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from service.schemas.history import ConfigChange, Drift, Number, SeriesDetail


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


def thin_series(series: SeriesDetail, most: int) -> SeriesDetail:
    """Return a series with no more than about so many points, and those of which something is told.

    What is left of the path, and of what lies beside it, are the extremes of as many columns as there is room for; the
    runs around each drift and each change of the configuration stay, also where that makes a few more.

    Parameters
    ----------
    most
        At least 2 for each of the kinds: on the path, beside it, without a value.
    """
    if len(series.points) <= most:
        return series
    told: list[Drift | ConfigChange] = [*series.drifts, *series.changes]
    told_of = {run for one in told for run in (one.run_before, one.run_after)}
    groups: dict[tuple[bool, bool], list[int]] = {}
    for index, point in enumerate(series.points):
        groups.setdefault((point.value is None, point.on_path), []).append(index)
    kept = {index for index, point in enumerate(series.points) if told_of and point.run_id in told_of}
    for group in groups.values():
        columns = max(1, most * len(group) // (2 * len(series.points)))
        values = [series.points[index].value or 0 for index in group]
        kept |= {group[0], group[-1], *(group[place] for place in extremes(columns, values))}
    return series.model_copy(update={"points": [series.points[index] for index in sorted(kept)]})
