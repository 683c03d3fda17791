"""Finds the positions at which a change may lie, from windows on both sides of each position."""

from __future__ import annotations

import numpy as np

from service.rules.detect.median_of_nine import Floats

WINDOWS = (5, 20, 48)  # points on each side
MIN_DIFFERENCE = 3.0  # standard deviations of the difference of two window means
GRID_POINTS = 64  # distance of positions that are always candidates: of shifts too small for a window
POINTS_AROUND = WINDOWS[-1] + 1


def find_candidates(sums: Floats, start: int, stop: int, threshold: float) -> list[int]:
    """Return candidate positions among ``start … stop - 1``, in order.

    A position is a candidate where the means of the points before and after it differ most in its neighbourhood: the
    moving sum statistic of Hušková and Slabý, "Permutation tests for multiple changes", Kybernetika 37 (2001).

    Parameters
    ----------
    sums : array of n + 1 floats
        Running sums of the series in sigma, beginning with 0.
    threshold : float
        Smallest difference of means, in its standard deviations.
    """
    first_grid_position = max(GRID_POINTS, start + -start % GRID_POINTS)  # at or after start, and never 0
    positions = set(range(first_grid_position, stop, GRID_POINTS))
    for width in WINDOWS:
        low, high = max(start - 1, width), min(stop + 1, len(sums) - width)
        if high - low < 1:
            continue
        # By position, the sum of the points after it minus that of the points before it; −1 beside the first and the
        # last position, so that these can be peaks as well.
        contrast = np.full(high - low + 2, -1.0)
        differences = contrast[1:-1]
        np.add(sums[low - width : high - width], sums[low + width : high + width], out=differences)
        differences -= 2 * sums[low:high]
        np.abs(differences, out=differences)
        # The standard deviation of this difference is the root of the number of points.
        peaks = (
            (differences >= threshold * (2 * width) ** 0.5)
            & (differences >= contrast[:-2])
            & (differences > contrast[2:])
        )
        positions.update((peaks.nonzero()[0] + low).tolist())
    return sorted(position for position in positions if start <= position < stop and position)
