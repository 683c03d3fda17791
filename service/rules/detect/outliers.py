"""Clips the outliers of a series around a running median."""

from __future__ import annotations

import numpy as np

from service.rules.detect.median_of_nine import Floats, compute_medians_of_nine

HALF_WINDOW = 4  # half the width of the running median: excursions of up to four points vanish, five remain
CLIP_SIGMA = 3.0  # sigma: a larger distance of a point from the running median is clipped to this
MAX_JUMP_SIGMA = 20.0  # sigma: a larger jump of the running median is clipped to this


def compute_running_median(x: Floats, start: int, stop: int) -> Floats:
    """Return the running medians of nine at ``start … stop - 1``; near the ends, the nearest full window is used.

    ``x`` has at least nine values.
    """
    max_window_start = len(x) - 2 * HALF_WINDOW - 1
    first_window_start = min(max(start - HALF_WINDOW, 0), max_window_start)
    last_window_start = min(max(stop - 1 - HALF_WINDOW, 0), max_window_start)
    medians = compute_medians_of_nine(x[first_window_start : last_window_start + 2 * HALF_WINDOW + 1])
    if start >= HALF_WINDOW and stop <= len(x) - HALF_WINDOW:
        return medians
    window_starts = np.arange(start - HALF_WINDOW, stop - HALF_WINDOW).clip(0, max_window_start)
    running_medians: Floats = medians[window_starts - first_window_start]
    return running_medians


def replace_outliers(x: Floats, cut_index: int, max_distance: float) -> Floats:
    """Return values with each outlier replaced by the running median of its side of a cut.

    An outlier is far off two running medians: the median of its side, and the median across the cut. So the few values
    just after a change are not outliers, because they are near the median of their side. The values of a wandering
    level are not outliers either, because the median across the cut follows them.

    Parameters
    ----------
    cut_index
        Index at which the second side begins.
    max_distance
        A value is far off a running median if its distance from it is larger than this.
    """
    side_medians = np.concatenate([_compute_middle(side) for side in (x[:cut_index], x[cut_index:]) if len(side)])
    is_outlier = np.minimum(np.abs(x - side_medians), np.abs(x - _compute_middle(x))) > max_distance
    return np.where(is_outlier, side_medians, x)


def _compute_middle(x: Floats) -> Floats:
    """Return the running median of nine values; for fewer than nine, their median."""
    return compute_running_median(x, 0, len(x)) if len(x) > 2 * HALF_WINDOW else np.full(len(x), np.median(x))


def clip_outliers(x: Floats, medians: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Return the clipped residuals of ``x`` and the clipped increments of its running median, both in sigma.

    Clipping residuals corresponds to the bounded loss of Fearnhead and Rigaill, "Changepoint detection in the presence
    of outliers", JASA 114 (2019), around a running median. Clipping increments keeps their squares small, however large
    a jump is.

    Parameters
    ----------
    x : array of n floats
    medians : array of n + 1 floats
        Running medians, beginning with the one before ``x[0]``.
    """
    residuals = _clip_values((x - medians[1:]) / sigma, CLIP_SIGMA)
    increments = _clip_values((medians[1:] - medians[:-1]) / sigma, MAX_JUMP_SIGMA)
    return residuals, increments


def _clip_values(values: Floats, bound: float) -> Floats:
    """Return ``values.clip(-bound, bound)``, but faster for few values."""
    return np.minimum(np.maximum(values, -bound), bound)
