"""Decides how long a change of a noisy series that is likely, but not certain, stays a suspicion."""

from service.rules.detect.wander import POINTS_AFTER

MIN_MARGIN_IN_DOUBT = 2.0
"""By how much the log-likelihood of a change must exceed that of the best wander to be a suspicion."""
MAX_POINTS_IN_DOUBT = POINTS_AFTER
"""Points after a change that end its suspicion: all runs that judge the change have followed then."""


def is_suspicion(margin: float, points_after: int) -> bool:
    """Return whether a change that is not certain is a suspicion, which more runs can settle.

    Parameters
    ----------
    margin
        By how much the change explains the runs around it better than any wander.
    points_after
        The points that have followed the change.
    """
    return margin >= MIN_MARGIN_IN_DOUBT and points_after < MAX_POINTS_IN_DOUBT
