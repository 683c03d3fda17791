"""Finds the best partition of a series into segments, by dynamic programming over candidate positions."""

from __future__ import annotations

import math
from typing import NamedTuple

MAX_CANDIDATES = 64  # if there are more candidates, the oldest are dropped, except the best
MAX_UNPRUNED = 6  # pruning so few candidates takes longer than keeping them
MIN_SEGMENT_POINTS = 4  # the running median removes shorter segments


class _Candidate(NamedTuple):
    """A position at which the last segment may begin, with the cost of the best partition up to it."""

    cost: float
    total: float
    """The cumulative sum of the values before it."""
    squares: float
    """The cumulative sum of their squares."""
    position: int
    node: int


class Partition:
    """Optimal partitioning with pruning, fed from left to right.

    It minimises the sum of squared residuals of all segments plus ``penalty`` for each change: Jackson et al., "An
    algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12 (2005). It prunes like
    PELT: Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107
    (2012).
    """

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty
        self.position = [0]  # for each node, the position at which its segment begins
        self.previous = [0]  # for each node, the node of the segment before it in the best partition up to its position
        # The first segment begins without a change, so its cost makes up for the penalty.
        self._candidates: list[_Candidate] = [_Candidate(-penalty, total=0.0, squares=0.0, position=0, node=0)]

    def _compute_costs(self, position: int, total: float, squares: float) -> list[float]:
        """Return, for each candidate, the cost of the series up to ``position`` if its last segment begins at it.

        The cost is infinite if this segment is too short. There are a dozen candidates on average, for which a list is
        faster than an array.

        Parameters
        ----------
        total, squares
            The cumulative sums of the values and of their squares up to ``position``.
        """
        costs = []
        for cost, total_before, squares_before, start, _ in self._candidates:
            length = position - start
            if length < MIN_SEGMENT_POINTS:
                costs.append(math.inf)
                continue
            segment_sum = total - total_before
            costs.append(cost + (squares - squares_before) - segment_sum * segment_sum / length)
        return costs

    def add(self, position: int, total: float, squares: float) -> None:
        """Add a candidate at ``position``.

        ``total`` and ``squares`` are the sums of all values before it and of their squares.
        """
        costs = self._compute_costs(position, total, squares)
        min_cost = min(costs)
        best_index = costs.index(min_cost)
        cost_with_change = min_cost + self.penalty  # the best partition up to here, with a change here
        self.previous.append(self._candidates[best_index].node)
        self.position.append(position)
        # Drop each candidate that can no longer be the best, because a change here is cheaper than a segment that goes
        # on from it. A segment that is still too short has an infinite cost, and says nothing. Of too many candidates,
        # the oldest quarter is dropped as well.
        if len(costs) > MAX_UNPRUNED:
            first_kept = MAX_CANDIDATES // 4 if len(costs) >= MAX_CANDIDATES else 0
            self._candidates = [
                candidate
                for index, (candidate, cost) in enumerate(zip(self._candidates, costs, strict=True))
                if index == best_index or (index >= first_kept and (cost <= cost_with_change or cost == math.inf))
            ]
        self._candidates.append(_Candidate(cost_with_change, total, squares, position, node=len(self.position) - 1))

    def find_start_of_last_segment(self, position: int, total: float, squares: float) -> int:
        """Return the node at which the last segment of the best partition begins if the series ends at ``position``."""
        costs = self._compute_costs(position, total, squares)
        return self._candidates[costs.index(min(costs))].node

    def save_state(self) -> tuple[list[_Candidate], int]:
        """Return the state, so that :meth:`restore_state` can undo provisional candidates."""
        return list(self._candidates), len(self.position)

    def restore_state(self, state: tuple[list[_Candidate], int]) -> None:
        """Remove every candidate added since ``state``."""
        self._candidates, n_nodes = state
        del self.position[n_nodes:], self.previous[n_nodes:]
