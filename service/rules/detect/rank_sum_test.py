"""Tests whether chance rarely puts so many of the newest values above or below those before them (Mann and Whitney)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from service.rules.detect.median_of_nine import Floats

LOG_MAX_CHANCE = math.log(8e-6)
"""Logarithm of the probability below which the newest points cannot be on the level before them by chance."""
LOG_MAX_CHANCE_OF_CHOICE = math.log(2e-6)
"""The same if the values of the two sides overlap: the overlapping points can then be chosen in more ways."""
_N_PARTITION_COUNTS = 100
"""The tail is computed for fewer pairs out of order than this; with more of them, no order is rare."""


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
