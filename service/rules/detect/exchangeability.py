"""Tests whether two adjacent segments of a series are on one level, using only the order of their values.

While nothing changes, the runs are exchangeable: every order of the same values is equally probable, whatever the
distribution of the noise. The statistics below depend only on this order. Therefore their probabilities hold for
jitter, heavy tails, outliers and modes alike, and stay the same if a series is shifted, scaled or mirrored.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from service.rules.detect.median_of_nine import Floats

MAX_POINTS_PER_SIDE = 64
"""The largest number of points on each side that are compared."""
LOG_MAX_CHANCE = math.log(8e-6)
"""Logarithm of the probability below which the newest points cannot be on the level before them by chance."""
LOG_MAX_CHANCE_OF_CHOICE = math.log(2e-6)
"""The same if the values of the two sides overlap: the overlapping points can then be chosen in more ways."""
_SHORT_SIDE, _LONG_SIDE = 20, 48
"""Points of a side up to which it counts as short, and from which it counts as long."""
_SHORT_SHIFT, _LONG_SHIFT = 4.3, 3.7
"""The shift, in standard deviations, that a short side needs and that a long side needs; interpolated in between."""
MAX_LACK_IN_DOUBT = 1.0
"""A shift that is too small by at most this many standard deviations is in doubt while more runs can settle it."""

_N_PARTITION_COUNTS = 100
"""The tail is computed for fewer pairs out of order than this; with more of them, no order is rare."""
_NORMAL_DISTRIBUTION = NormalDist()


def find_needed_shift(n_shorter: int) -> float:
    """Return the shift, in standard deviations, that makes a change certain if its shorter side has this many points.

    A series has many short segments, so a short side needs a larger shift. The bounds are calibrated by simulation for
    every position and length, with a test after each run: see docs/explanation/detection.md.
    """
    fraction = min(1.0, max(0.0, (n_shorter - _SHORT_SIDE) / (_LONG_SIDE - _SHORT_SIDE)))
    return _SHORT_SHIFT + fraction * (_LONG_SHIFT - _SHORT_SHIFT)


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


def is_rare(before: Floats, after: Floats) -> bool:
    """Return whether chance would rarely put so many of the values after a position above or below those before it.

    The probability bounds the exact tail of the statistic of Mann and Whitney ("On a test of whether one of two random
    variables is stochastically larger than the other", Annals of Mathematical Statistics 18, 1947). It is used because
    normal scores are too cautious if one side is short. The number of orders with at most ``u`` pairs out of order is
    at most the number of partitions of all whole numbers up to ``u``.
    """
    counts_at_most = np.searchsorted(np.sort(before), after, side="right")
    counts_below = np.searchsorted(np.sort(before), after, side="left")
    n_pairs = len(before) * len(after)
    n_out_of_order = min(int(counts_at_most.sum()), n_pairs - int(counts_below.sum()))
    if n_out_of_order >= len(_compute_log_partition_counts()):
        return False
    log_probability = _compute_log_partition_counts()[n_out_of_order] - compute_log_choose(
        len(before) + len(after), len(after)
    )
    # If the two sides overlap, the overlapping points can be chosen in several ways, so the bound is stricter.
    return log_probability <= (LOG_MAX_CHANCE if n_out_of_order == 0 else LOG_MAX_CHANCE_OF_CHOICE)


@cache
def _compute_log_partition_counts() -> list[float]:
    """Return, for each index, the logarithm of the total number of partitions of the whole numbers from 0 to it."""
    # Allow one size of part after another: the partitions of `total` that contain `part` are those of the rest.
    counts = [1] + [0] * (_N_PARTITION_COUNTS - 1)
    for part in range(1, len(counts)):
        for total in range(part, len(counts)):
            counts[total] += counts[total - part]
    return [math.log(sum(counts[: total + 1])) for total in range(len(counts))]


def compute_log_choose(n: int, k: int) -> float:
    """Return the logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
