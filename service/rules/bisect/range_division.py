"""Chooses the positions on a line to measure next: those that divide the probability of a step most evenly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from math import log2

import numpy as np
import numpy.typing as npt


def choose_positions(
    shares: Sequence[float],
    failed_positions: Collection[int],
    n_positions: int,
    *,
    candidates: Collection[int],
    measured_positions: Collection[int] = (),
) -> list[int]:
    """Return the positions that best divide the probability of a step into equal parts.

    Parameters
    ----------
    shares
        For each position, the probability that the step lies on one side of it.
    failed_positions
        Positions that could not be measured.
    n_positions
        How many positions to choose.
    candidates
        Positions to choose from.
    measured_positions
        Positions that are already measured or will be. The new positions are chosen between them.

    Notes
    -----
    A successful measurement gains the entropy of the division into two sides. If a commit cannot be built, some of its
    neighbours cannot either; how many is unknown. With a prior that favours no number, a position at distance d from a
    failed one succeeds with a probability of d ∕ (d + 1). The entropy is flat around the middle, so choosing a position
    off the middle costs little. (Git chooses it at random: C. Couder, "Fighting regressions with git bisect", 2009.)
    """
    success_probabilities = estimate_success_probabilities(len(shares), failed_positions)
    remaining_candidates = list(candidates)
    chosen_positions: list[int] = []
    for target in choose_target_shares(
        [shares[position] for position in measured_positions], min(n_positions, len(remaining_candidates))
    ):
        best_position = max(
            remaining_candidates,
            key=lambda position: (
                _compute_entropy(shares[position], target) * success_probabilities[position],
                -position,
            ),
        )
        remaining_candidates.remove(best_position)
        chosen_positions.append(best_position)
    return sorted(chosen_positions)


def choose_target_shares(measured_shares: Iterable[float], n_targets: int) -> list[float]:
    """Return the cumulative probabilities, in ascending order, at which further measurements divide 0 … 1 best.

    If nothing is measured yet, they divide it into ``n_targets`` + 1 equal parts. Otherwise each divides the part
    between ``measured_shares`` that is largest without it.
    """
    boundaries = sorted({0.0, 1.0, *(share for share in measured_shares if 0 < share < 1)})
    parts = list(pairwise(boundaries))
    targets_of_part = [0] * len(parts)
    for _ in range(n_targets):
        part_sizes = [(high - low) / (targets + 1) for (low, high), targets in zip(parts, targets_of_part, strict=True)]
        targets_of_part[part_sizes.index(max(part_sizes))] += 1
    return [
        low + (high - low) * target / (targets + 1)
        for (low, high), targets in zip(parts, targets_of_part, strict=True)
        for target in range(1, targets + 1)
    ]


def estimate_success_probabilities(n_positions: int, failed_positions: Collection[int]) -> npt.NDArray[np.float64]:
    """Return for each position the probability that it can be measured, given the failed ones.

    See :func:`choose_positions`.
    """
    probabilities = np.ones(n_positions)
    positions = np.arange(n_positions)
    sorted_failures = np.array(sorted(failed_positions), dtype=np.intp)
    if len(sorted_failures):
        # For each position, the index of the nearest failed one at or after it, and of the nearest before it.
        next_failed = np.searchsorted(sorted_failures, positions)
        neighbours = [(next_failed, next_failed < len(sorted_failures)), (next_failed - 1, next_failed > 0)]
        for index, exists in neighbours:
            distance = np.abs(positions - sorted_failures[np.clip(index, 0, len(sorted_failures) - 1)])
            probabilities *= np.where(exists, distance / (distance + 1), 1.0)
    return probabilities


def _compute_entropy(share: float, target: float) -> float:
    """Return the entropy, in bits, of a division at ``share``, rescaled so that ``target`` is the middle.

    It is one bit at the target, and falls to 0 if all of the probability is on one side.
    """
    smaller_side = share / target / 2 if share < target else (1 - share) / (1 - target) / 2
    if smaller_side <= 0:
        return 0.0
    return -smaller_side * log2(smaller_side) - (1 - smaller_side) * log2(1 - smaller_side)
