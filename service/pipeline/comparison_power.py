"""Says of a series how many interleaved pairs would prove a rise, from the samples of its newest runs."""

from __future__ import annotations

from sqlalchemy.orm import Session

from runner.contract import Case
from runner.contract.level import median
from runner.contract.nomination import Power
from runner.contract.proof_power import compute_power, describe_power
from service.rules.series.find_drifts import is_exact_count
from service.rules.series.tracks import Points
from service.schemas.history import SeriesHead
from service.store.series import points

RUNS_FOR_POWER = 6
"""Newest runs whose samples show how a count varies."""
MAX_LEVEL_DIFFERENCE = 0.25
"""Share of the newest level by which samples may differ from it: others are of another level."""


def read_power(session: Session, head: SeriesHead, measured: Points) -> Power | None:
    """Return what a comparison of a case can find, and how long it takes; None for what is not counted exactly.

    Parameters
    ----------
    measured
        The points on the path of the series that were measured, oldest first.
    """
    if not is_exact_count(head) or not measured:
        return None
    newest = measured[-RUNS_FOR_POWER:]
    elapsed = median(points.map_levels(session, [newest[-1].run_id]).get("elapsed", ()))
    last = newest[-1].value
    samples = [value for point in newest if point.environment == newest[-1].environment for value in point.samples]
    near = [value for value in samples if abs(value - last) <= MAX_LEVEL_DIFFERENCE * abs(last)]
    power = compute_power(near, float(elapsed or 0))
    if power is None:
        return None
    return Power(
        case=Case(workload=head.workload, definition=head.definition, parameters=head.parameters),
        metric=head.metric,
        **power._asdict(),
        sentence=describe_power(power),
    )


def read_power_of_series(session: Session, head: SeriesHead) -> Power | None:
    """Return what a comparison of a series' case can find; see :func:`read_power`."""
    path = points.arrange_trends(session, [head.id])[head.id].path
    return read_power(session, head, tuple(point for point in path if not point.is_reused))
