"""Decides whether a drift is the change that somebody accepted in a pull request."""

from __future__ import annotations

from runner.contract import MetricVerdict
from runner.contract.level import Number
from service.rules.relative_change import compute_change_rank

MAX_EXCESS = 0.5
"""A drift may be larger than the accepted change by at most this share: it was measured in other sessions."""


def is_accepted_change(before: Number, after: Number, accepted: MetricVerdict | None) -> bool:
    """Return whether a drift goes in the direction of an accepted change of its series, and is not much larger.

    Sizes are compared in percent of the level before, because the gate may have measured on another host.

    Parameters
    ----------
    before, after
        The levels of the drift.
    accepted
        The change that the gate reported for the same metric of the same case; None if it reported none.
    """
    if accepted is None or accepted.change is None or accepted.base.level is None:
        return False
    has_same_direction = (after > before) == (accepted.change > 0)
    accepted_size = compute_change_rank(accepted.change, accepted.base.level)
    return has_same_direction and compute_change_rank(after - before, before) <= (1 + MAX_EXCESS) * accepted_size
