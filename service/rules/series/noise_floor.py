"""Computes the floor of a count from runs with the same bytes: no commit explains the differences between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from service.rules.series.point_order import PathPoint
from service.schemas.history import Number

MAX_FLOOR_FAULTS = 16
"""The largest floor: the number of pages that one fault on a file maps. If runs with the same bytes differ by more, the
host differed, which is a change and not a floor."""


def calibrate_floor(points: Iterable[PathPoint]) -> Number | None:
    """Return the largest difference between measured runs of programs with the same bytes in one environment.

    It is at most :data:`MAX_FLOOR_FAULTS`; None if there are no two such runs.
    """
    levels: dict[tuple[str, str], list[Number]] = defaultdict(list)
    for point in points:
        if point.program_bytes.key and not point.is_reused:
            levels[point.environment, point.program_bytes.key].append(point.value)
    ranges = [max(values) - min(values) for values in levels.values() if len(values) > 1]
    return min(max(ranges), MAX_FLOOR_FAULTS) if ranges else None
