"""Finds the best partition of a series into segments, by dynamic programming over candidate positions."""

from __future__ import annotations

import math

MAX_OPEN_CANDIDATES = 64  # most open candidates; beyond that the oldest are dropped, except the best
MAX_UNPRUNED = 6  # up to this many are not worth pruning
MIN_SEGMENT_POINTS = 4  # points of a segment; the running median lets no shorter ones through

_Open = tuple[float, float, float, int, int]  # cost so far, sum, sum of squares, position, node


class Partition:
    """Optimal partitioning with pruning, fed from left to right.

    Minimises the sum of squared residuals of all segments plus ``penalty`` for each change: Jackson et al., "An
    algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12 (2005); pruned after
    Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107
    (2012).
    """

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty
        self.position = [0]
        self.previous = [0]
        self._open: list[_Open] = [(-penalty, 0.0, 0.0, 0, 0)]

    def _costs(self, position: int, total: float, squares: float) -> list[float]:
        """Return the cost of the series up to ``position`` if its last segment begins at each open candidate.

        A list of floats: with a dozen open candidates on average, an array does not pay.
        """
        return [
            cost + (squares - q) - (rise := total - s) * rise / length
            if (length := position - start) >= MIN_SEGMENT_POINTS
            else math.inf
            for cost, s, q, start, _ in self._open
        ]

    def add(self, position: int, total: float, squares: float) -> None:
        """Add a candidate: ``total`` and ``squares`` are the sums over the ``position`` values before it."""
        costs = self._costs(position, total, squares)
        least = min(costs)
        best = costs.index(least)
        value = least + self.penalty
        self.previous.append(self._open[best][4])
        self.position.append(position)
        if len(costs) > MAX_UNPRUNED:
            oldest = MAX_OPEN_CANDIDATES // 4 if len(costs) >= MAX_OPEN_CANDIDATES else 0
            self._open = [
                each
                for i, (each, cost) in enumerate(zip(self._open, costs, strict=True))
                if i == best or (i >= oldest and (cost <= value or cost == math.inf))
            ]
        self._open.append((value, total, squares, position, len(self.position) - 1))

    def last(self, position: int, total: float, squares: float) -> int:
        """Return the node at which the last segment begins if the series ends at ``position``."""
        costs = self._costs(position, total, squares)
        return self._open[costs.index(min(costs))][4]

    def mark(self) -> tuple[list[_Open], int]:
        """Return the state, so that :meth:`reset` can undo provisional candidates."""
        return list(self._open), len(self.position)

    def reset(self, mark: tuple[list[_Open], int]) -> None:
        """Remove every candidate added since ``mark``."""
        self._open, nodes = mark
        del self.position[nodes:], self.previous[nodes:]
