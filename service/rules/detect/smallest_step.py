"""Decides whether a step of a noisy series is large enough to be a change."""

from __future__ import annotations

import math

from service.rules.detect.measured_change import MeasuredChange

SMALLEST = 2.0
"""Standard deviations of the noise: smaller steps are the wander of a host."""
_BALANCED = 80.0
"""Squared standard deviations that the points of the shorter side must explain: the penalty if both were that short."""


def is_large_enough(change: MeasuredChange, sigma: float) -> bool:
    """Return whether a step is large enough: for a host, for its shorter side, and for the points around it."""
    least = max(SMALLEST, math.sqrt(_BALANCED / change.shorter)) * sigma
    return abs(change.after - change.before) >= max(least, change.spread)
