"""Computes how many interleaved pairs would prove a rise in a series, from the samples of its newest runs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from runner.contract import Case
from runner.contract.nomination import Power
from runner.contract.proof_power import compute_power, describe_power
from service.rules.series.find_drifts import is_exact_count
from service.rules.series.point_order import Points
from service.schemas.history import SeriesHead
from service.store.series import points

RUNS_FOR_POWER = 6
"""The samples of so many of the newest runs show how a count varies."""
MAX_LEVEL_DIFFERENCE = 0.25
"""Samples that differ from the newest level by more than this share of it belong to another level."""


def read_powers(session: Session, measured_series: Sequence[tuple[SeriesHead, Points]]) -> list[Power]:
    """Return the power and the duration of comparisons of cases, for each series of an exact count.

    The durations of all cases are read at once.

    Parameters
    ----------
    measured_series
        Series, each with its measured points on the path, oldest first.
    """
    exact_series = [(head, path[-RUNS_FOR_POWER:]) for head, path in measured_series if is_exact_count(head) and path]
    seconds = points.map_durations(session, {newest_points[-1].run_id for _, newest_points in exact_series})
    powers = []
    for head, newest_points in exact_series:
        power = _build_power(head, newest_points, seconds.get(newest_points[-1].run_id, 0.0))
        if power is not None:
            powers.append(power)
    return powers


def _build_power(head: SeriesHead, newest_points: Points, seconds: float) -> Power | None:
    """Return the power of comparisons of a case, from the samples at its newest level; None if there are too few.

    Parameters
    ----------
    seconds
        How many seconds its newest run took; 0 if it is unknown.
    """
    newest_point = newest_points[-1]
    samples = [
        value
        for point in newest_points
        if point.environment == newest_point.environment  # another one may have another level
        for value in point.samples
    ]
    samples_at_level = [
        value for value in samples if abs(value - newest_point.value) <= MAX_LEVEL_DIFFERENCE * abs(newest_point.value)
    ]
    power = compute_power(samples_at_level, seconds)
    if power is None:
        return None
    return Power(
        case=Case(workload=head.workload, definition=head.definition, parameters=head.parameters),
        metric=head.metric,
        **power._asdict(),
        sentence=describe_power(power),
    )
