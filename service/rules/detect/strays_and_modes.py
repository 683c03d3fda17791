"""Tames a series: clips strays around a running median, and folds two modes onto each other."""

from __future__ import annotations

import numpy as np

from service.rules.detect.median_of_nine import Floats, median_of_nine

HALF = 4  # half the width of the running median: excursions of up to four points vanish, five remain
MODE_WINDOW = 10  # points by which the modes are distinguished
CLIP = 3.0  # largest counted distance of a point from the running median, in sigma
_WINDOW = np.arange(MODE_WINDOW)
JUMP = 20.0  # largest counted jump of the running median, in sigma


def running_median(x: Floats, start: int, stop: int) -> Floats:
    """Return the running medians of nine at ``start … stop - 1``; at the ends, those of the nearest whole window."""
    last = len(x) - 2 * HALF - 1
    first = min(max(start - HALF, 0), last)
    until = min(max(stop - 1 - HALF, 0), last)
    whole = median_of_nine(x[first : until + 2 * HALF + 1])
    if start >= HALF and stop <= len(x) - HALF:
        return whole
    at = np.minimum(np.maximum(np.arange(start - HALF, stop - HALF), 0), last) - first
    result: Floats = whole[at]
    return result


def fold_modes(x: Floats, gap: float, start: int, stop: int) -> Floats:
    """Fold the upper of two modes, ``gap`` apart, onto the lower one, at ``start … stop - 1``.

    The mode of a point is decided by the window of ten that ends at the point or the one that begins there: the window
    whose spread looks more like two modes, or one, and less like a change of level in its middle.
    """
    part = x[start:stop]
    if gap == 0.0 or len(x) < MODE_WINDOW:
        return part
    last = len(x) - MODE_WINDOW
    first = min(max(start - MODE_WINDOW + 1, 0), last)
    until = min(stop - 1, last)
    windows = x[np.arange(first, until + 1)[:, None] + _WINDOW]
    windows.sort(axis=1)
    low, spread = windows[:, 1], windows[:, -2] - windows[:, 1]
    two, one = np.abs(spread - gap) <= gap / 4, spread <= gap / 4
    rank = np.where(two, 0, np.where(one, 1, 2))
    beginning = np.arange(start - first, stop - first)
    ending = np.minimum(np.maximum(beginning - (MODE_WINDOW - 1), 0), last - first)
    beginning = np.minimum(np.maximum(beginning, 0), last - first)
    chosen = np.where(rank[beginning] < rank[ending], beginning, ending)
    upper = (rank[chosen] == 0) & (part - low[chosen] > gap / 2)
    return np.where(upper, part - gap, part)


def tame(x: Floats, middle: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Return the clipped residuals of ``x`` and the clipped increments of its running median, both in sigma.

    Clipping is the bounded loss of Fearnhead and Rigaill, "Changepoint detection in the presence of outliers", JASA 114
    (2019), around a running median; clipped increments keep squares small however large a jump is.

    Parameters
    ----------
    x : array of n floats
    middle : array of n + 1 floats
        Running medians, beginning with the one before ``x[0]``.
    """
    rest = _clipped((x - middle[1:]) / sigma, CLIP)
    rise = _clipped((middle[1:] - middle[:-1]) / sigma, JUMP)
    return rest, rise


def _clipped(values: Floats, bound: float) -> Floats:
    """Return ``values.clip(-bound, bound)``, which is slower for few values."""
    return np.minimum(np.maximum(values, -bound), bound)
