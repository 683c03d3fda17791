"""Computes medians of nine successive values, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WINDOW = np.arange(9)
# Sorting network that yields the middle of nine: Smith, "Implementing median filters in XC4000E FPGAs", 1996.
_NETWORK = (
    *((1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3)),
    *((5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)),
)


def _build_exchange_network() -> list[tuple[int, int, bool, bool]]:
    """Return the exchanges of the network, and which of the two results of each are needed for the median."""
    needed, exchanges = {4}, []  # the network leaves the median at index 4
    for a, b in reversed(_NETWORK):
        exchanges.append((a, b, a in needed, b in needed))
        if a in needed or b in needed:
            needed |= {a, b}
    return exchanges[::-1]


_EXCHANGES = _build_exchange_network()


def compute_medians_of_nine(x: Floats) -> Floats:
    """Return the n - 8 medians of all windows of nine successive values; many windows pass through a sorting network.

    An exchange (a, b) of the network leaves the smaller value on wire a and the larger one on wire b, if needed.
    """
    n = len(x) - 8
    if n < 200:  # for short arrays, the calls of the network cost more than the additional comparisons of a sort
        windows: Floats = x[np.arange(n)[:, None] + _WINDOW]
        windows.sort(axis=1)
        middle: Floats = windows[:, 4]
        return middle
    wires = [x[i : i + n] for i in range(9)]
    for a, b, needs_smaller, needs_larger in _EXCHANGES:
        first, second = wires[a], wires[b]
        if needs_smaller:
            wires[a] = np.minimum(first, second)
        if needs_larger:
            wires[b] = np.maximum(first, second)
    return wires[4]
