"""Computes the clipped series and its running sums, which give the cost of any segment in O(1)."""

from __future__ import annotations

import numpy as np

from service.rules.detect.median_of_nine import Floats
from service.rules.detect.noise import Noise
from service.rules.detect.outliers import HALF_WINDOW, clip_outliers, compute_running_median

CLIP_LOOKAHEAD = HALF_WINDOW  # the clipped value of a point depends on this many points after it


class ClippedSeries:
    """Running sums of a growing series with its outliers clipped, in sigma.

    Attributes
    ----------
    sums, squares : arrays
        Running sums of the clipped values and of their squares; ``sums[k]`` covers the first k points.
    """

    def __init__(self) -> None:
        self.sums: Floats = np.zeros(1)
        self.squares: Floats = np.zeros(1)
        self._height: Floats = np.zeros(1)
        self._final = 0

    def update(self, x: Floats, noise: Noise) -> None:
        """Extend the sums to the end of ``x``; the last ``CLIP_LOOKAHEAD`` points are provisional until more follow."""
        start, n = self._final, len(x)
        self._reserve_points(n)
        middle = compute_running_median(x[:n], max(0, start - 1), n)
        if start == 0:
            middle = np.concatenate([middle[:1], middle])
        rest, rise = clip_outliers(x[start:n], middle, noise.sigma)
        _continue_sums(self._height, start, rise)
        clipped = rest + self._height[start + 1 : n + 1]
        _continue_sums(self.sums, start, clipped)
        _continue_sums(self.squares, start, clipped * clipped)
        self._final = max(0, n - CLIP_LOOKAHEAD)

    def _reserve_points(self, n: int) -> None:
        """Make room for the running sums of at least n points."""
        if n >= len(self.sums):
            size = n + n // 2  # generous, as pages that nobody writes to take no memory
            self.sums = _extend_array(self.sums, size + 1)
            self.squares = _extend_array(self.squares, size + 1)
            self._height = _extend_array(self._height, size + 1)


def _extend_array(array: Floats, size: int) -> Floats:
    result = np.zeros(size)
    result[: len(array)] = array
    return result


def _continue_sums(sums: Floats, start: int, values: Floats) -> None:
    """Write the running sums of ``values`` after ``sums[start]``, rounded as if summed in a single pass."""
    part = sums[start : start + len(values) + 1]
    part[1:] = values
    np.add.accumulate(part, out=part)
