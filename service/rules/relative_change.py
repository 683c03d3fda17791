"""Expresses a change relative to a level, or relative to the drifts that make it up."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

from runner.contract.level import Number

_MAX_SYMMETRIC_PERCENT = 199.9
"""If a change exceeds this many percent of the mean of both values, the first value is practically zero."""


def compute_percent_change(change: Number | None, level: Number | None) -> float | None:
    """Return a change in percent of the level before it.

    None if either is unknown, if the level is zero, or if it is so small that the quotient overflows.
    """
    if change is None or not level:
        return None
    percent = 100 * change / abs(level)
    return percent if isfinite(percent) else None


def compute_change_rank(change: Number, level: Number) -> float:
    """Return the size of a change in percent of the level before it, for sorting.

    It is infinite if there is no such percentage: a change from zero is larger than any other.
    """
    percent = compute_percent_change(change, level)
    return inf if percent is None else abs(percent)


def compute_symmetric_percent_change(before: Number, after: Number) -> float:
    """Return the difference in percent of the mean of both absolute values; 0 if both are zero.

    It is defined even if ``before`` is zero, and only changes its sign when the two are swapped. The values are halved
    before they are added, so that the sum cannot overflow.
    """
    mean_size = abs(before) / 2 + abs(after) / 2
    return 100 * ((after - before) / mean_size) if mean_size else 0.0


def convert_to_percent_of_base(symmetric: float) -> float | None:
    """Convert percent of the mean of both values to percent of the first value; None if the latter is about zero.

    From (b - a) / ((a + b) / 2) = s follows (b - a) / a = s / (1 - s / 2).
    """
    return None if symmetric >= _MAX_SYMMETRIC_PERCENT else 200 * symmetric / (200 - symmetric)


def is_mostly_suspected(net_change: Number, certain: Sequence[Number], suspected: Sequence[Number]) -> bool:
    """Return whether a change between two sides rests on drifts that further runs have to confirm.

    It does if the certain drifts together explain less than half of it: a small certain drift does not make a large
    suspected one certain.

    Parameters
    ----------
    certain, suspected
        The changes of the drifts between the sides, in the same unit; at least one.
    """
    return bool(suspected) and (not certain or 2 * abs(sum(certain)) < abs(net_change))
