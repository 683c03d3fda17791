"""The best cut of a series into segments: dynamic programming over candidate positions, one candidate at a time."""

from __future__ import annotations

import numpy as np

from service.detect.median import Floats

CAPACITY = 256  # open candidates kept; the oldest but the best go first
SHORTEST = 4  # points of a segment; the running median lets no shorter ones through


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
        self._open = np.zeros((5, CAPACITY))  # rows: cost so far, sum, sum of squares, position, node
        self._open[0, 0] = -penalty
        self._count = 1

    def _costs(self, position: int, total: float, squares: float) -> Floats:
        cost, s, q, p, _ = self._open[:, : self._count]
        rise: Floats = total - s
        costs: Floats = cost + (squares - q) - rise * rise / (position - p)
        newest = self._count - 1
        while newest >= 0 and position - p[newest] < SHORTEST:
            costs[newest] = np.inf
            newest -= 1
        return costs

    def add(self, position: int, total: float, squares: float) -> None:
        """Open a candidate: ``total`` and ``squares`` are the sums of the ``position`` values before it."""
        costs = self._costs(position, total, squares)
        best = int(costs.argmin())
        value = float(costs[best]) + self.penalty
        self.previous.append(int(self._open[4, best]))
        self.position.append(position)
        if self._count > 24:
            self._prune(costs, value, best)
        self._open[:, self._count] = value, total, squares, position, len(self.position) - 1
        self._count += 1

    def _prune(self, costs: Floats, value: float, best: int) -> None:
        keep = costs <= value
        keep[best] = True
        if self._count >= CAPACITY - 1:
            keep[: CAPACITY // 4] = False
            keep[best] = True
        kept = self._open[:, : self._count][:, keep]
        self._count = kept.shape[1]
        self._open[:, : self._count] = kept

    def last(self, position: int, total: float, squares: float) -> int:
        """Return the node at which the last segment begins if the series ends at ``position``."""
        return int(self._open[4, int(self._costs(position, total, squares).argmin())])

    def mark(self) -> tuple[Floats, int, int]:
        """Remember the state, to be returned to after provisional candidates."""
        return self._open[:, : self._count].copy(), self._count, len(self.position)

    def reset(self, mark: tuple[Floats, int, int]) -> None:
        """Forget every candidate added since ``mark``."""
        open_then, self._count, nodes = mark
        self._open[:, : self._count] = open_then
        del self.position[nodes:], self.previous[nodes:]
