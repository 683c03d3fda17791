"""Selects the points that a chart needs: the extremes of each of its columns, so that no step is lost."""

from __future__ import annotations

from collections.abc import Sequence

from service.schemas.history import ConfigChange, Drift, Number, SeriesDetail


def find_extremes(n_columns: int, *measures: Sequence[Number]) -> list[int]:
    """Return the indices of the lowest and the highest value of each measure in each column, in order.

    If there are no more than two points for each column, all indices are returned.

    Parameters
    ----------
    n_columns
        How many columns the chart has.
    measures
        The values that are drawn for each point, such as its level and the ends of its range: at least one sequence,
        all of the same length.
    """
    n_points = len(measures[0])
    if n_points <= 2 * n_columns:
        return list(range(n_points))
    selected_indices: list[int] = []
    for column in range(n_columns):
        indices = range(column * n_points // n_columns, (column + 1) * n_points // n_columns)
        extremes = {pick(indices, key=measure.__getitem__) for measure in measures for pick in (min, max)}
        selected_indices += sorted(extremes)
    return selected_indices


def thin_series(series: SeriesDetail, max_points: int) -> SeriesDetail:
    """Return a series with at most about ``max_points`` points, including the runs around its drifts.

    The points on the path and those beside it are each divided into columns, of which only the extremes are kept. The
    runs around each drift and each configuration change are always kept, even if this exceeds the limit a little.

    Parameters
    ----------
    max_points
        The approximate limit; at least 2 points of each kind are kept in any case: on the path, beside it, and without
        a value.
    """
    if len(series.points) <= max_points:
        return series
    changes: list[Drift | ConfigChange] = [*series.drifts, *series.changes]
    runs_around_changes = {run for change in changes for run in (change.run_before, change.run_after)}
    groups: dict[tuple[bool, bool], list[int]] = {}
    for index, point in enumerate(series.points):
        groups.setdefault((point.value is None, point.on_path), []).append(index)
    selected_indices = {index for index, point in enumerate(series.points) if point.run_id in runs_around_changes}
    for group in groups.values():
        # The limit is divided among the groups in proportion to their points. A column keeps two points: its extremes.
        n_columns = max(1, max_points * len(group) // (2 * len(series.points)))
        # Points without a value form their own groups, and it does not matter which of them are kept.
        values = [series.points[index].value or 0 for index in group]
        selected_indices |= {group[0], group[-1], *(group[index] for index in find_extremes(n_columns, values))}
    return series.model_copy(update={"points": [series.points[index] for index in sorted(selected_indices)]})
