"""Judges the large differences of a count separately, in addition to all differences.

A head that takes one fewer fault in half of the pairs and a thousand more in the others is no better.
"""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract.level import Number
from service.rules.comparison.sign_test import count_signs, decide_direction

LARGE_DIFFERENCES = (16, 256, 4096)
"""Thresholds, in events: for each, the signs of the pairs that differ by at least this are also judged separately.
Without a change, these signs are as fair as all signs."""
LARGE_ERROR_SHARE = 0.2
"""The share of the error probability that these thresholds get, in equal parts."""

Pairs = Sequence[tuple[Number, Number]]
"""The values of base and head in each pair."""


def find_direction(pairs: Pairs, alpha: float) -> tuple[int, int]:
    """Return the direction that the pairs significantly favour, and the smallest difference that counted.

    An increase counts even if small differences favour a decrease: a thousand more faults in some executions outweigh
    one fewer fault in each of the others.
    """
    # Count the signs of all differences, and of the large ones by each threshold. They share the error probability.
    signs_by_difference = {
        min_difference: count_signs(keep_large_differences(pairs, min_difference))
        for min_difference in (0, *LARGE_DIFFERENCES)
    }
    error_shares = {
        min_difference: LARGE_ERROR_SHARE / len(LARGE_DIFFERENCES) if min_difference else 1 - LARGE_ERROR_SHARE
        for min_difference in signs_by_difference
    }
    # An increase at any threshold takes precedence over a decrease; within a direction, the smallest threshold counts.
    direction_of_signs = {
        min_difference: decide_direction(signs_by_difference[min_difference], share * alpha)
        for min_difference, share in error_shares.items()
    }
    direction, min_difference = next(
        (
            (direction, min_difference)
            for direction in (1, -1)
            for min_difference in direction_of_signs
            if direction_of_signs[min_difference] == direction
        ),
        (0, 0),
    )
    # A decrease does not count while more large differences point upwards.
    seems_worse = any(
        signs_by_difference[large_difference].above > signs_by_difference[large_difference].below
        for large_difference in LARGE_DIFFERENCES
    )
    return (0, 0) if direction < 0 and seems_worse else (direction, min_difference)


def keep_large_differences(pairs: Pairs, min_difference: Number) -> Pairs:
    """Return the pairs, with both values made equal if they differ by less than ``min_difference``."""
    return [(base, head if abs(head - base) >= min_difference else base) for base, head in pairs]
