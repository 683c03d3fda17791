"""Compares the levels of two adjacent segments of a series by the normal scores of their values' ranks.

While nothing changes, the runs are exchangeable: every order of the same values is equally probable, whatever the
distribution of the noise. The statistics below, and those of :mod:`service.rules.detect.rank_sum_test`, depend only on
this order. Therefore their probabilities hold for jitter, heavy tails, outliers and modes alike, and stay the same if a
series is shifted, scaled or mirrored.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from service.rules.detect.median_of_nine import Floats

MAX_POINTS_PER_SIDE = 64
"""The largest number of points on each side that are compared."""

_NORMAL_DISTRIBUTION = NormalDist()


@cache
def _compute_normal_quantiles(n: int) -> tuple[Floats, Floats]:
    """Return the quantiles of the normal distribution at (rank - 1/2) / n, and the weights of :func:`compute_shifts`.

    The weight of a split is the reciprocal of the standard deviation of the sum of the scores on one side of it, if
    they are drawn from all scores without replacement.
    """
    lower_half = [_NORMAL_DISTRIBUTION.inv_cdf((rank + 0.5) / n) for rank in range(n // 2)]
    scores = np.array([*lower_half, *([0.0] if n % 2 else []), *(-score for score in reversed(lower_half))])
    split = np.arange(1, n)
    weights: Floats = 1 / np.sqrt(split * (n - split) * (float((scores * scores).sum()) / (n * (n - 1))))
    return scores, weights


def compute_normal_scores(values: Floats) -> Floats:
    """Return the normal score of each value's rank; equal values share the mean of their scores."""
    n = len(values)
    order = values.argsort(kind="stable")
    sorted_values = values[order]
    scores, _ = _compute_normal_quantiles(n)
    ends = (sorted_values[1:] != sorted_values[:-1]).nonzero()[0]  # the last index of each group of ties but the last
    # If some values are equal, take the mean score of each group of ties.
    if len(ends) < n - 1:
        starts = np.empty(len(ends) + 1, dtype=np.intp)
        starts[0] = 0
        starts[1:] = ends + 1
        lengths = np.empty(len(starts), dtype=np.intp)
        lengths[:-1] = starts[1:] - starts[:-1]
        lengths[-1] = n - starts[-1]
        scores = (np.add.reduceat(scores, starts) / lengths).repeat(lengths)
    scores_in_order = np.empty(n)
    scores_in_order[order] = scores
    return scores_in_order


def compute_shifts(scores: Floats, first_split: int, last_split: int) -> Floats:
    """Return by how many standard deviations the scores after each split exceed those before it.

    The statistic of van der Waerden, "Order tests for the two-sample problem and their power", Indagationes
    Mathematicae 14 (1952). With ties, the sum is still divided by the standard deviation for no ties, which is larger:
    with the smaller one, a few rare values would seem too improbable.
    """
    _, weights = _compute_normal_quantiles(len(scores))  # 1 / the standard deviation of the sum, for each split
    # All scores add up to 0, so the sum after a split is minus the sum before it.
    shifts: Floats = scores[:last_split].cumsum()[first_split - 1 :] * -weights[first_split - 1 : last_split]
    return shifts
