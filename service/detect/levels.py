"""What lies on the two sides of each change: levels, exact position, interval of the position, trend after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.detect.median import Floats

NEAR = 32  # points on each side that a level is taken from
SEARCH = 16  # how far the exact position may lie from the candidate

Ints = NDArray[np.int64]


class Row(NamedTuple):
    """One change found by the partition, measured. Levels in the unit of the (centred) series."""

    at: int
    before: float
    after: float
    low: int
    high: int
    length: int
    trend: float


def _medians(x: Floats, start: Ints, stop: Ints) -> Floats:
    """Return the median of ``x[start:stop]`` of each row; at most ``NEAR`` points a row, at least one."""
    at = start[:, None] + np.arange(NEAR)
    values = np.where(at < stop[:, None], x[at.clip(max=len(x) - 1)], np.inf)
    values.sort(axis=1)
    count = np.minimum(stop - start, NEAR)
    row = np.arange(len(start))
    median: Floats = (values[row, (count - 1) // 2] + values[row, count // 2]) / 2
    return median


def measure(x: Floats, sums: Floats, edges: Ints, begin: int, inflation: float) -> list[Row]:
    """Measure the changes at ``edges[1:-1]``.

    Position and its interval come from the profile of the likelihood over all positions near the candidate (Hinkley,
    "Inference about the change-point in a sequence of random variables", Biometrika 57, 1970), with bounded residuals
    and taken as a posterior with a flat prior.

    Parameters
    ----------
    x : array of n floats
        The series, modes folded.
    sums : array of n + 1 floats
        Running sums of the tamed series in sigma, for trends.
    edges : array of m + 2 ints
        An edge of the series or another change, the m changes, and again an edge or a change.
    begin : int
        The exact position of the change at ``edges[0]``, 0 if that is the edge of the series.
    """
    if len(edges) < 3:
        return []
    left, at, right = edges[:-2], edges[1:-1], edges[2:]
    begin_old, end_new = np.maximum(left, at - NEAR), np.minimum(right, at + NEAR)
    old_level = (sums[at] - sums[begin_old]) / (at - begin_old)
    new_level = (sums[end_new] - sums[at]) / (end_new - at)
    low, high = np.maximum(at - SEARCH, (left + at) // 2 + 1), np.minimum(at + SEARCH, (at + right) // 2)
    low = np.minimum(low, at)
    high = np.maximum(high, at)
    position = at[:, None] + np.arange(-SEARCH, SEARCH + 1)
    tamed = np.diff(sums[position.clip(0, len(sums) - 1)], axis=1)
    # (y - old)² - (y - new)², summed: what the points before a position cost more under the new level
    excess = (new_level - old_level)[:, None] * (2 * tamed - (old_level + new_level)[:, None])
    profile = np.zeros((len(at), 2 * SEARCH + 1))
    np.cumsum(excess, axis=1, out=profile[:, 1:])
    profile[(position < low[:, None]) | (position > high[:, None])] = np.inf
    best = profile.argmin(axis=1)
    weight = np.exp(-(profile - profile.min(axis=1, keepdims=True)) / (2 * inflation))
    mass = weight.cumsum(axis=1)
    mass /= mass[:, -1:]
    index = at + best - SEARCH
    first = np.minimum((mass < 0.025).sum(axis=1) + at - SEARCH, index)
    last = np.maximum((mass < 0.975).sum(axis=1) + at - SEARCH, index)
    exact = np.concatenate([[begin], index, edges[-1:]])
    before = _medians(x, np.maximum(exact[:-2], index - NEAR), index)
    after = _medians(x, index, np.minimum(exact[2:], index + NEAR))
    half = (right - at) // 2
    middle = at + half
    later = (sums[right] - sums[right - np.maximum(half, 1)]) / np.maximum(half, 1)
    earlier = (sums[middle] - sums[at]) / np.maximum(half, 1)
    trend = np.where(half > 0, later - earlier, 0.0)
    columns = (index, before, after, first, last, right - at, trend)
    return [Row(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
