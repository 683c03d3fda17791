"""Computes the floor of a count from runs with the same bytes, and decides which drifts are below it.

No commit explains the differences between runs with the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from runner.contract import Kind, get_metric
from service.rules.series.point_order import PathPoint
from service.schemas.certainty import Certainty
from service.schemas.history import Drift, Number

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


def is_below_floor(drifts: Sequence[Drift], certainty: Certainty) -> bool:
    """Return whether every drift of an event is so small that two runs with the same bytes can differ as much.

    Only exact counts have a floor. If it was not measured, it is zero if there is a single candidate or a proof, which
    explain even a change by one fault; otherwise it is one fault.
    """
    has_settled_cause = certainty in {Certainty.SINGLE_COMMIT, Certainty.PROVEN, Certainty.CONFIRMED}
    unmeasured_floor = 0 if has_settled_cause else 1
    return all(
        drift.kind is Kind.COUNT
        and get_metric(drift.metric).exact
        and abs(drift.change) <= (unmeasured_floor if drift.floor is None else drift.floor)
        for drift in drifts
    )
