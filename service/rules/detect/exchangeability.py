"""Tests whether two neighbouring stretches of a series are on one level, by the order of their values alone. Pure.

While nothing changes, the runs of a stretch are exchangeable: every order of the same values is equally probable,
whatever the law of the noise is. The statistics below depend only on this order. Therefore their probabilities hold for
jitter, heavy tails, strays and modes alike, and stay the same if a series is shifted, scaled or mirrored.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from service.rules.detect.median_of_nine import Floats

WINDOW = 64
"""Most points on each side that are compared."""
RARE = math.log(8e-6)
"""Logarithm of the probability below which the newest points cannot be on the level before them by chance."""
_SHORT, _LONG = 20, 48
_SHORT_SHIFT, _LONG_SHIFT = 4.3, 3.7
DOUBT = 0.8
"""A shift that is smaller than necessary by no more than this is in doubt while more runs can settle it."""

_NORMAL = NormalDist()


def needed_shift(shorter: int) -> float:
    """Return the shift, in standard deviations, that makes a change certain if its shorter side has so many points.

    A short side can be any of the many short stretches of a series, so it needs more. Calibrated by simulation, for
    every position and length, asked after each run: see docs/detection.md.
    """
    part = min(1.0, max(0.0, (shorter - _SHORT) / (_LONG - _SHORT)))
    return _SHORT_SHIFT + part * (_LONG_SHIFT - _SHORT_SHIFT)


@cache
def _normal_scores(n: int) -> tuple[Floats, float]:
    """Return the quantiles of the normal distribution at (rank - 1/2) / n, and their variance without replacement."""
    half = [_NORMAL.inv_cdf((rank + 0.5) / n) for rank in range(n // 2)]
    scores = np.array([*half, *([0.0] if n % 2 else []), *(-score for score in reversed(half))])
    return scores, float((scores * scores).sum()) / (n * (n - 1))


def normal_scores(values: Floats) -> Floats:
    """Return the normal score of each value: that of its rank; equal values share the mean of theirs."""
    n = len(values)
    order = values.argsort(kind="stable")
    ordered = values[order]
    scores = _normal_scores(n)[0]
    ends = (ordered[1:] != ordered[:-1]).nonzero()[0]
    if len(ends) < n - 1:
        starts = np.concatenate([[0], ends + 1])
        lengths = np.diff(starts, append=n)
        scores = np.repeat(np.add.reduceat(scores, starts) / lengths, lengths)
    placed = np.empty(n)
    placed[order] = scores
    return placed


def shifts(scores: Floats, first: int, last: int) -> Floats:
    """Return by how many standard deviations the scores after each split ``first … last`` exceed those before it.

    The statistic of van der Waerden, "Order tests for the two-sample problem and their power", Indagationes
    Mathematicae 14 (1952). Ties are divided by the variance without ties, which is the larger one, because for a few
    rare values the smaller one would make the tail too light.
    """
    n = len(scores)
    split = np.arange(first, last + 1)
    above: Floats = -scores.cumsum()[first - 1 : last]
    above /= np.sqrt(split * (n - split) * _normal_scores(n)[1])
    return above


def log_chance_beyond(before: Floats, after: Floats) -> float:
    """Return the logarithm of the probability that all of the values after a position lie as far on one side by chance.

    Hypergeometric: all ``after`` are among the ``beyond`` outermost of all values (Fisher, "The logic of inductive
    inference", Journal of the Royal Statistical Society 98, 1935).
    """
    n, size = len(before) + len(after), len(after)
    above = int((before >= after.min()).sum())
    below = int((before <= after.max()).sum())
    return log_choose(min(above, below) + size, size) - log_choose(n, size)


def log_choose(n: int, k: int) -> float:
    """Return the logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
