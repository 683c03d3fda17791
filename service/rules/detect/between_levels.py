"""Counts the runs at a change that lie between its levels: of them it is not known to which side they belong.

Two successive commits can each take a part of a step. The run between them is at neither level, so that it shows where
the change begins, and not where it ends.
"""

from collections.abc import Sequence

SHORT_OF = 4.0
"""Sigma by which a run between two levels misses the level that it is compared with."""
FEWEST = 2
"""Runs that have to be at that level."""


def runs_between(runs: Sequence[float], level: float, other: float, sigma: float) -> int:
    """Return how many of the first runs of a level miss it by far, towards the other level."""
    direction = 1.0 if level > other else -1.0
    reached = (place for place, value in enumerate(runs) if (level - value) * direction <= SHORT_OF * sigma)
    return max(0, min(next(reached, 0), len(runs) - FEWEST))
