"""Chooses the places of a line to measure next, by how they divide the suspicion. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2

import numpy as np
import numpy.typing as npt


def choose_places(
    shares: Sequence[float], failed: Collection[int], many: int, *, allowed: Collection[int]
) -> list[int]:
    """Return the places that best divide the suspicion into ``many`` + 1 parts.

    Parameters
    ----------
    shares
        For each place, the share of the suspicion that lies on one side of it.
    failed
        Places that could not be measured.
    allowed
        Places to choose from.

    Notes
    -----
    A measurement gains the entropy of its two sides if it succeeds. What breaks a commit breaks its neighbours too, for
    a stretch of unknown length: with a prior that favours no length, a place at the distance d from a failed one
    succeeds with a probability of d ∕ (d + 1). The entropy is flat around the middle, so stepping aside costs little.
    (Git steps aside at random: C. Couder, "Fighting regressions with git bisect", 2009.)
    """
    odds = measurable_chances(len(shares), failed)
    left = list(allowed)
    chosen: list[int] = []
    for number in range(1, min(many, len(left)) + 1):
        target = number / (many + 1)
        best = max(left, key=lambda place: (_gain(shares[place], target) * odds[place], -place))
        left.remove(best)
        chosen.append(best)
    return sorted(chosen)


def measurable_chances(many: int, failed: Collection[int]) -> npt.NDArray[np.float64]:
    """Return the probability of each place to be measurable, given the failed ones; see :func:`choose_places`."""
    odds = np.ones(many)
    here = np.arange(many)
    marks = np.array(sorted(failed), dtype=np.intp)
    if len(marks):
        place = np.searchsorted(marks, here)
        for index, inside in ((place, place < len(marks)), (place - 1, place > 0)):
            distance = np.abs(here - marks[np.clip(index, 0, len(marks) - 1)])
            odds *= np.where(inside, distance / (distance + 1), 1.0)
    return odds


def _gain(share: float, target: float) -> float:
    """Return the entropy in bits, which is highest where the share equals the target."""
    side = share / target / 2 if share < target else (1 - share) / (1 - target) / 2
    return 0.0 if side <= 0 else -side * log2(side) - (1 - side) * log2(1 - side)
