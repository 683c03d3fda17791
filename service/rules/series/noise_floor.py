"""Calibrates a count by runs with the same bytes: what they differ by, no commit explains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from service.rules.series.point_order import PathPoint
from service.schemas.history import Number

MAX_FLOOR_FAULTS = 16
"""The largest floor: the pages that one fault on a file maps. Runs of the same bytes that differ by more saw another
host, which is a change and no floor."""


def calibrate_floor(points: Iterable[PathPoint]) -> Number | None:
    """Return the largest difference between measured runs with the same bytes in one environment.

    At most :data:`MAX_FLOOR_FAULTS`; None if no two such runs were measured.
    """
    levels: dict[tuple[str, str], list[Number]] = defaultdict(list)
    for point in points:
        if point.program_bytes.key and not point.is_reused:
            levels[point.environment, point.program_bytes.key].append(point.value)
    ranges = [max(values) - min(values) for values in levels.values() if len(values) > 1]
    return min(max(ranges), MAX_FLOOR_FAULTS) if ranges else None
