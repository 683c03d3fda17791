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
        self._clipped_medians: Floats = np.zeros(1)
        self._n_final = 0

    def update(self, x: Floats, noise: Noise) -> None:
        """Extend the sums to the end of ``x``; the last ``CLIP_LOOKAHEAD`` points are provisional until more follow.

        Parameters
        ----------
        x
            The series so far: the points of the previous update, and new ones after them.
        noise
            The noise, with a positive sigma; the same in every update.
        """
        start, n = self._n_final, len(x)
        self._reserve_points(n)
        medians = compute_running_median(x, max(0, start - 1), n)
        if start == 0:  # No point precedes the first one: it is compared with its own median.
            medians = np.concatenate([medians[:1], medians])
        # A clipped value is a running median whose jumps are clipped, plus the clipped distance from this median.
        residuals, increments = clip_outliers(x[start:n], medians, noise.sigma)
        _continue_sums(self._clipped_medians, start, increments)
        clipped_values = residuals + self._clipped_medians[start + 1 : n + 1]
        _continue_sums(self.sums, start, clipped_values)
        _continue_sums(self.squares, start, clipped_values * clipped_values)
        self._n_final = max(0, n - CLIP_LOOKAHEAD)

    def _reserve_points(self, n: int) -> None:
        """Make room for the running sums of at least n points."""
        if n >= len(self.sums):
            n_points = n + n // 2  # generous, because untouched pages take no memory
            self.sums = _extend_array(self.sums, n_points + 1)
            self.squares = _extend_array(self.squares, n_points + 1)
            self._clipped_medians = _extend_array(self._clipped_medians, n_points + 1)


def _extend_array(array: Floats, length: int) -> Floats:
    """Return an array of a greater length that begins with ``array``; the rest is 0."""
    result = np.zeros(length)
    result[: len(array)] = array
    return result


def _continue_sums(sums: Floats, start: int, values: Floats) -> None:
    """Write the running sums of ``values`` after ``sums[start]``, rounded as if summed in a single pass."""
    sums_from_start = sums[start : start + len(values) + 1]
    sums_from_start[1:] = values
    np.add.accumulate(sums_from_start, out=sums_from_start)
