"""Finds the positions at which a change may lie, from windows on both sides of each position."""

from __future__ import annotations

import numpy as np

from service.rules.detect.median_of_nine import Floats

WINDOWS = (5, 20, 48)  # points on each side
MIN_DIFFERENCE = 3.0  # standard deviations of the difference of two window means
GRID_POINTS = 64  # every 64th position is a candidate in any case: a small shift may show in no window
POINTS_AROUND = WINDOWS[-1] + 1


def find_candidates(sums: Floats, start: int, stop: int, threshold: float) -> list[int]:
    """Return candidate positions among ``start … stop - 1``, in order.

    A position is a candidate if the difference between the means of the points before and after it is a local maximum:
    the moving sum statistic of Hušková and Slabý, "Permutation tests for multiple changes", Kybernetika 37 (2001).

    Parameters
    ----------
    sums : array of n + 1 floats
        Running sums of the series in sigma, beginning with 0.
    threshold : float
        Smallest difference between the two means, in units of its own standard deviation.
    """
    first_grid_position = max(GRID_POINTS, start + -start % GRID_POINTS)  # at or after start, and never 0
    positions = set(range(first_grid_position, stop, GRID_POINTS))
    for width in WINDOWS:
        # One position more at each end, because a peak is compared with its neighbours.
        low, high = max(start - 1, width), min(stop + 1, len(sums) - width)
        if high - low < 1:
            continue
        # For each position, the sum of the points after it minus the sum of the points before it. The array is padded
        # with −1 at both ends, so that the first and the last position can be peaks as well.
        contrast = np.full(high - low + 2, -1.0)
        differences = contrast[1:-1]
        np.add(sums[low - width : high - width], sums[low + width : high + width], out=differences)
        differences -= 2 * sums[low:high]
        np.abs(differences, out=differences)
        # The standard deviation of this difference is the square root of the number of points.
        peaks = (
            (differences >= threshold * (2 * width) ** 0.5)
            & (differences >= contrast[:-2])
            & (differences > contrast[2:])
        )
        positions.update((peaks.nonzero()[0] + low).tolist())
    return sorted(position for position in positions if start <= position < stop and position)
