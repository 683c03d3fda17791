"""Measures each change of the partition: levels, position with its interval, and the trend after the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.rules.detect.median_of_nine import Floats
from service.rules.detect.noise import Noise
from service.rules.detect.normal_scores import compute_normal_scores, compute_shifts
from service.rules.detect.outliers import HALF_WINDOW

LEVEL_POINTS = 32  # points on each side of a change from which its levels are computed
MAX_POINTS_BETWEEN = 6  # points on each side of a change that are searched for runs between its levels
POSITION_POINTS = 48  # points on each side of a proposed position within which the exact position is searched
MIN_MISS_SIGMA = 4.0  # sigma: a run lies between two levels only if it misses its own level by at least this
MIN_AGREEING_SHARE = 1 / 3  # smallest share of the runs beside a change that lie at its level
MIN_RUNS_AT_LEVEL = 2  # smallest number of runs at that level

Ints = NDArray[np.int64]
_WINDOW = np.arange(LEVEL_POINTS)
_OFFSETS = np.arange(-POSITION_POINTS, POSITION_POINTS + 1)


class MeasuredChange(NamedTuple):
    """A change of the partition with its measures; levels in the unit of the (centred) series.

    The level before the change starts at ``begin``, and the level after it ends at ``end``. ``length`` is the length of
    the segment after it; ``in_doubt`` says that more runs must settle the change.
    """

    position: int
    before: float
    after: float
    low: int
    high: int
    length: int
    trend: float
    begin: int
    end: int
    in_doubt: bool


def count_runs_between(runs: Sequence[float], level: float, other_level: float, sigma: float) -> int:
    """Return how many of the first runs after a change lie far from the new level, towards the old one.

    Two successive commits can each cause a part of a step. The run between them is at neither level, so it shows where
    the change begins, but not where it ends. For the runs before a change, pass them in reverse and swap the levels.

    Parameters
    ----------
    level, other_level
        The new level and the old one.
    """
    direction = 1.0 if level > other_level else -1.0
    indices_at_level = (
        index for index, value in enumerate(runs) if (level - value) * direction <= MIN_MISS_SIGMA * sigma
    )
    # If no run is at the level, none is known to lie between the levels; the last runs count as at the level anyway.
    return max(0, min(next(indices_at_level, 0), len(runs) - MIN_RUNS_AT_LEVEL))


def _compute_medians(x: Floats, start: Ints, stop: Ints) -> Floats:
    """Return the median of each ``x[start:stop]``, of one to ``LEVEL_POINTS`` points."""
    indices = start[:, None] + _WINDOW
    values = np.where(indices < stop[:, None], x[np.minimum(indices, len(x) - 1)], np.inf)
    values.sort(axis=1)
    count = stop - start
    row = np.arange(len(start))
    median: Floats = (values[row, (count - 1) // 2] + values[row, count // 2]) / 2
    return median


def find_agreed_level(runs: Floats, level: float, sigma: float) -> float:
    """Return ``level``, the median of a segment, if enough runs are near it; otherwise the level next to the change.

    A segment can consist of parts that are too short to be separated. Its median can then lie where no run is, so the
    level of the part next to the change is taken. ``runs`` begins with the run nearest to the change.
    """
    max_distance = MIN_MISS_SIGMA * sigma
    if np.count_nonzero(np.abs(runs - level) <= max_distance) >= MIN_AGREEING_SHARE * len(runs):
        return level
    nearest_level = float(np.median(runs[:3]))  # of three runs, so that one outlier does not matter
    far_runs = np.flatnonzero(np.abs(runs - nearest_level) > max_distance)
    return float(np.median(runs[: far_runs[0]])) if len(far_runs) and far_runs[0] else nearest_level


def _find_nearest_split(x: Floats, split: int, low: int, high: int) -> int:
    """Return the position in ``low … high`` that minimises the sum of absolute residuals from the two levels.

    The levels are the medians before and after the proposed ``split``. This corrects splits near the start of a series:
    there, the running median covers both levels, so the first points can be clipped as if they were outliers.
    """
    # A later split measures the runs in between from the level before it: this adds their excess residuals to the sum.
    excess_residuals = np.abs(x - np.median(x[:split])) - np.abs(x - np.median(x[split : split + LEVEL_POINTS]))
    return low + int(excess_residuals.cumsum()[low - 1 : high].argmin())


def measure_changes(
    x: Floats, sums: Floats, edges: Ints, *, begin: int, noise: Noise, in_doubt: Sequence[bool]
) -> list[MeasuredChange]:
    """Measure the changes at ``edges[1:-1]``.

    The position and its interval come from the profile likelihood over all positions near the candidate (Hinkley,
    "Inference about the change-point in a sequence of random variables", Biometrika 57, 1970), taken as a posterior
    with a flat prior. The residuals are bounded; for a series with modes, they are normal scores.

    Parameters
    ----------
    x : array of n floats
        The series.
    sums : array of n + 1 floats
        Running sums of the clipped series in sigma, for trends.
    edges : array of m + 2 ints
        The position before the m changes, the m changes, and the position after them. The first and the last are edges
        of the series or further changes.
    begin : int
        The exact position of the change at ``edges[0]``, 0 if that is the edge of the series.
    in_doubt : sequence of m bools
        For each change, whether more runs must settle it.
    """
    if len(edges) < 3:
        return []
    previous_edges, proposed, next_edges = edges[:-2], edges[1:-1], edges[2:]
    # Range of the positions of each change: at most POSITION_POINTS on each side, and at most halfway to the next one.
    old_starts = np.maximum(previous_edges, proposed - POSITION_POINTS)
    new_ends = np.minimum(next_edges, proposed + POSITION_POINTS)
    low = np.minimum(np.maximum(old_starts, (previous_edges + proposed) // 2) + 1, proposed)
    high = np.maximum(np.minimum(new_ends - 1, (proposed + next_edges) // 2), proposed)
    positions = np.minimum(np.maximum(proposed[:, None] + _OFFSETS, low[:, None]), high[:, None])

    # Interval that holds 95 % of the posterior, with a flat prior for the position.
    log_likelihood = _compute_log_likelihood(x, sums, positions, old_starts=old_starts, new_ends=new_ends, noise=noise)
    best_indices = log_likelihood.argmax(axis=1)
    posterior = np.exp(log_likelihood - log_likelihood[np.arange(len(proposed)), best_indices][:, None])
    posterior[:, 1:][positions[:, 1:] == positions[:, :-1]] = 0.0  # positions limited to low or high count only once
    posterior = posterior.cumsum(axis=1)
    rows = np.arange(len(proposed))
    indices = positions[rows, best_indices]
    lowest = positions[rows, (posterior >= 0.025 * posterior[:, -1:]).argmax(axis=1)]
    highest = positions[rows, (posterior >= 0.975 * posterior[:, -1:]).argmax(axis=1)]

    # Position: the proposed one if it lies within the interval; near the start of a series, the one with the smallest
    # residuals.
    if not noise.has_modes:
        indices = np.where((lowest <= proposed) & (proposed <= highest), proposed, indices)
        if old_starts[0] == 0 and proposed[0] <= 2 * HALF_WINDOW:
            indices[0] = _find_nearest_split(x[: new_ends[0]], int(indices[0]), int(low[0]), int(high[0]))
    boundaries = np.concatenate([[begin], indices, edges[-1:]])

    # Levels: medians of the nearest points on both sides; first all levels before the changes, then all after them.
    n_changes = len(proposed)
    starts = np.concatenate([np.maximum(boundaries[:-2], indices - LEVEL_POINTS), indices])
    stops = np.concatenate([indices, np.minimum(boundaries[2:], indices + LEVEL_POINTS)])
    medians = _compute_medians(x, starts, stops)
    for i in range(n_changes):
        medians[i] = find_agreed_level(x[starts[i] : stops[i]][::-1], medians[i], noise.sigma)
        medians[n_changes + i] = find_agreed_level(
            x[starts[n_changes + i] : stops[n_changes + i]], medians[n_changes + i], noise.sigma
        )

    # The interval includes runs between the two levels, because it is unknown to which of them each belongs.
    low, high = np.minimum(lowest, indices), np.maximum(highest, indices)
    if not noise.has_modes:
        for i in range(n_changes):
            runs_before = x[starts[i] : indices[i]][-MAX_POINTS_BETWEEN:][::-1].tolist()
            runs_after = x[indices[i] : stops[n_changes + i]][:MAX_POINTS_BETWEEN].tolist()
            n_between_before = count_runs_between(runs_before, medians[i], medians[n_changes + i], noise.sigma)
            n_between_after = count_runs_between(runs_after, medians[n_changes + i], medians[i], noise.sigma)
            low[i] = min(low[i], indices[i] - n_between_before)
            high[i] = max(high[i], indices[i] + n_between_after)
    columns_of_changes = (
        indices,
        medians[:n_changes],
        medians[n_changes:],
        low,
        high,
        next_edges - proposed,
        _compute_trends(sums, proposed, next_edges),
        boundaries[:-2],
        boundaries[2:],
    )
    rows_of_changes = zip(*(column.tolist() for column in columns_of_changes), in_doubt, strict=True)
    return [MeasuredChange(*row) for row in rows_of_changes]


def _compute_log_likelihood(
    x: Floats, sums: Floats, positions: Ints, *, old_starts: Ints, new_ends: Ints, noise: Noise
) -> Floats:
    """Return the log-likelihood of each position, from the residuals around the means of its two sides.

    Parameters
    ----------
    positions : array of m × p ints
        The p positions of each of the m changes.
    old_starts, new_ends : arrays of m ints
        The ranges of runs that decide about each change.
    """
    points = (new_ends - old_starts)[:, None]
    n_before = positions - old_starts[:, None]
    # How far the running sum at each position is off the straight line between its two ends.
    rise = (
        sums[positions] - sums[old_starts][:, None] - n_before * ((sums[new_ends] - sums[old_starts])[:, None] / points)
    )
    log_likelihood: Floats = rise * rise * points / (2 * noise.inflation * n_before * (points - n_before))
    if noise.has_modes:
        for i, (first_run, last_run) in enumerate(zip(old_starts.tolist(), new_ends.tolist(), strict=True)):
            scores = compute_normal_scores(x[first_run:last_run])
            # The first of these shifts has one run before it.
            log_likelihood[i] = compute_shifts(scores, 1, len(scores) - 1)[n_before[i] - 1] ** 2 / (2 * noise.inflation)
    return log_likelihood


def _compute_trends(sums: Floats, starts: Ints, ends: Ints) -> Floats:
    """Return the trend of the level in each range: the mean of its second half minus the mean of its first half."""
    half = (ends - starts) // 2
    half_length = np.maximum(half, 1)
    second_half_mean = (sums[ends] - sums[ends - half_length]) / half_length
    first_half_mean = (sums[starts + half] - sums[starts]) / half_length
    trends: Floats = np.where(half > 0, second_half_mean - first_half_mean, 0.0)
    return trends
