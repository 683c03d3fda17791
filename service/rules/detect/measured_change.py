"""Measures each change of the partition: its levels, position, interval of the position, and the trend after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.rules.detect.exchangeability import compute_normal_scores, compute_shifts
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.noise import Noise
from service.rules.detect.outliers import HALF_WINDOW

LEVEL_POINTS = 32  # points on each side that a level is taken from
MAX_POINTS_BETWEEN = 6  # points on each side of a change of which some may lie between its levels
POSITION_POINTS = 48  # points on each side among which its position lies
MIN_MISS_SIGMA = 4.0  # sigma by which a run between two levels misses the level that it would belong to
MIN_AGREEING_SHARE = 1 / 3  # share of the runs beside a change that have to lie at its level
MIN_RUNS_AT_LEVEL = 2  # runs that have to be at that level

Ints = NDArray[np.int64]
_WINDOW = np.arange(LEVEL_POINTS)
_AROUND = np.arange(-POSITION_POINTS, POSITION_POINTS + 1)


class MeasuredChange(NamedTuple):
    """A change of the partition with its measures; levels in the unit of the (centred) series.

    ``begin`` is the start of the level before it and ``end`` the end of the level after it, ``length`` the length of
    the segment after it, and ``in_doubt`` whether more runs must settle it.
    """

    at: int
    before: float
    after: float
    low: int
    high: int
    length: int
    trend: float
    begin: int
    end: int
    in_doubt: bool


def count_runs_between(runs: Sequence[float], level: float, other: float, sigma: float) -> int:
    """Return how many of the first runs after a change lie far from the new level, towards the old one.

    Two successive commits can each cause a part of a step. The run between them is at neither level, so it shows where
    the change begins, but not where it ends.
    """
    direction = 1.0 if level > other else -1.0
    reached = (index for index, value in enumerate(runs) if (level - value) * direction <= MIN_MISS_SIGMA * sigma)
    return max(0, min(next(reached, 0), len(runs) - MIN_RUNS_AT_LEVEL))


def _compute_medians(x: Floats, start: Ints, stop: Ints) -> Floats:
    """Return the median of each ``x[start:stop]``, of one to ``LEVEL_POINTS`` points."""
    at = start[:, None] + _WINDOW
    values = np.where(at < stop[:, None], x[np.minimum(at, len(x) - 1)], np.inf)
    values.sort(axis=1)
    count = stop - start
    row = np.arange(len(start))
    median: Floats = (values[row, (count - 1) // 2] + values[row, count // 2]) / 2
    return median


def find_agreed_level(runs: Floats, level: float, sigma: float) -> float:
    """Return the level of the runs nearest to a change, such that some runs really were at this level.

    The median of a segment whose parts are too short to be separated can lie where no run is. Then the level is that of
    the part next to the change.
    """
    reach = MIN_MISS_SIGMA * sigma
    if np.count_nonzero(np.abs(runs - level) <= reach) >= MIN_AGREEING_SHARE * len(runs):
        return level
    nearest = float(np.median(runs[:3]))
    apart = np.flatnonzero(np.abs(runs - nearest) > reach)
    return float(np.median(runs[: apart[0]])) if len(apart) and apart[0] else nearest


def _find_nearest_split(x: Floats, at: int, low: int, high: int) -> int:
    """Return the position in ``low … high`` from which values are nearer to the level after ``at`` than before it.

    It has the least sum of absolute residuals. Where a series begins, the running median that outliers are clipped
    around takes the first points for outliers of the level after them.
    """
    nearer = np.abs(x - np.median(x[:at])) - np.abs(x - np.median(x[at : at + LEVEL_POINTS]))
    return low + int(nearer.cumsum()[low - 1 : high].argmin())


def measure_changes(
    x: Floats, sums: Floats, edges: Ints, *, begin: int, noise: Noise, in_doubt: Sequence[bool]
) -> list[MeasuredChange]:
    """Measure the changes at ``edges[1:-1]``.

    Position and its interval come from the profile of the likelihood over all positions near the candidate (Hinkley,
    "Inference about the change-point in a sequence of random variables", Biometrika 57, 1970), with bounded residuals,
    or normal scores where a series has modes, and taken as a posterior with a flat prior.

    Parameters
    ----------
    x : array of n floats
        The series.
    sums : array of n + 1 floats
        Running sums of the clipped series in sigma, for trends.
    edges : array of m + 2 ints
        An edge of the series or another change, the m changes, and again an edge or a change.
    begin : int
        The exact position of the change at ``edges[0]``, 0 if that is the edge of the series.
    in_doubt : sequence of m bools
        Whether more runs must settle each change.
    """
    if len(edges) < 3:
        return []
    left, at, right = edges[:-2], edges[1:-1], edges[2:]
    # Range of the positions of each change: at most POSITION_POINTS on each side, and halfway to its neighbours.
    begin_old, end_new = np.maximum(left, at - POSITION_POINTS), np.minimum(right, at + POSITION_POINTS)
    low = np.minimum(np.maximum(begin_old, (left + at) // 2) + 1, at)
    high = np.maximum(np.minimum(end_new - 1, (at + right) // 2), at)
    position = np.minimum(np.maximum(at[:, None] + _AROUND, low[:, None]), high[:, None])

    # Logarithm of the likelihood of each position, from the residuals of two levels, each the mean of its side.
    total = sums[at]
    points = (end_new - begin_old)[:, None]
    done = position - begin_old[:, None]
    rise = sums[position] - sums[begin_old][:, None] - done * ((sums[end_new] - sums[begin_old])[:, None] / points)
    gain = rise * rise * points / (2 * noise.inflation * done * (points - done))
    if noise.has_modes:
        for i, (first_run, last_run) in enumerate(zip(begin_old.tolist(), end_new.tolist(), strict=True)):
            scores = compute_normal_scores(x[first_run:last_run])
            gain[i] = compute_shifts(scores, 1, len(scores) - 1)[done[i] - 1] ** 2 / (2 * noise.inflation)

    # Interval that holds 95 % of the posterior, with a flat prior for the position.
    best = gain.argmax(axis=1)
    mass = np.exp(gain - gain[np.arange(len(at)), best][:, None])
    mass[:, 1:][position[:, 1:] == position[:, :-1]] = 0.0
    mass = mass.cumsum(axis=1)
    rows = np.arange(len(at))
    index = position[rows, best]
    first = position[rows, (mass >= 0.025 * mass[:, -1:]).argmax(axis=1)]
    last = position[rows, (mass >= 0.975 * mass[:, -1:]).argmax(axis=1)]

    # Position: the proposed one where the interval holds it; near the start of a series, that of the least residuals.
    if not noise.has_modes:
        index = np.where((first <= at) & (at <= last), at, index)
        if begin_old[0] == 0 and at[0] <= 2 * HALF_WINDOW:
            index[0] = _find_nearest_split(x[: end_new[0]], int(index[0]), int(low[0]), int(high[0]))
    exact = np.concatenate([[begin], index, edges[-1:]])

    # Levels: medians of the nearest points on both sides.
    m = len(at)
    starts = np.concatenate([np.maximum(exact[:-2], index - LEVEL_POINTS), index])
    stops = np.concatenate([index, np.minimum(exact[2:], index + LEVEL_POINTS)])
    medians = _compute_medians(x, starts, stops)
    for i in range(m):
        medians[i] = find_agreed_level(x[starts[i] : stops[i]][::-1], medians[i], noise.sigma)
        medians[m + i] = find_agreed_level(x[starts[m + i] : stops[m + i]], medians[m + i], noise.sigma)

    # Trend of the level after each change: mean of its second half minus mean of its first half.
    length = right - at
    half = length // 2
    part = np.maximum(half, 1)
    later = (sums[right] - sums[right - part]) / part
    earlier = (sums[at + half] - total) / part
    trend = np.where(half > 0, later - earlier, 0.0)

    # The interval includes runs between the two levels: it is not known to which they belong.
    low, high = np.minimum(first, index), np.maximum(last, index)
    if not noise.has_modes:
        for i in range(m):
            old, new = x[starts[i] : index[i]][-MAX_POINTS_BETWEEN:], x[index[i] : stops[m + i]][:MAX_POINTS_BETWEEN]
            low[i] = min(
                low[i], index[i] - count_runs_between(old[::-1].tolist(), medians[i], medians[m + i], noise.sigma)
            )
            high[i] = max(high[i], index[i] + count_runs_between(new.tolist(), medians[m + i], medians[i], noise.sigma))
    columns = (index, medians[:m], medians[m:], low, high, length, trend, exact[:-2], exact[2:])
    listed = zip(*(column.tolist() for column in columns), in_doubt, strict=True)
    return [MeasuredChange(*row) for row in listed]
