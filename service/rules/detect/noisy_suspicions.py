"""Decides how long a likely, but not certain, change of a noisy series stays a suspicion."""

from service.rules.detect.wander import POINTS_AFTER

MIN_MARGIN_IN_DOUBT = 2.0
"""For a suspicion, the log-likelihood of a change must exceed that of the best wander by at least this."""
MAX_POINTS_IN_DOUBT = POINTS_AFTER
"""A suspicion ends after this many points: all runs by which the change is judged are then there."""


def is_suspicion(margin: float, points_after: int, *, exceeds_wander: bool) -> bool:
    """Return whether a change that is not certain is a suspicion: one that more runs can settle.

    Parameters
    ----------
    margin
        By how much the log-likelihood of the change exceeds that of the best wander, slow movements of the host.
    points_after
        Number of points that have followed the change.
    exceeds_wander
        Whether the levels are distinct, and the change is larger than hosts are assumed to wander.
    """
    return (exceeds_wander or margin >= MIN_MARGIN_IN_DOUBT) and points_after < MAX_POINTS_IN_DOUBT
