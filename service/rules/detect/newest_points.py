"""Decides whether the newest points left the previous level, for which the partition needs more points after them.

``make bench-verdicts`` measures the false-alarm rate and the power of the thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from service.rules.detect.distinct_levels import compute_shift_shortfall
from service.rules.detect.level_change import LevelChange
from service.rules.detect.noise import Noise
from service.rules.detect.normal_scores import MAX_POINTS_PER_SIDE
from service.rules.detect.position_and_levels import count_runs_between, find_agreed_level

MAX_NEWEST_POINTS = 36  # newest points that are judged here; the partition finds older changes
REFERENCE_POINTS = 32  # points before them from which the level is taken
MIN_SINGLE_SIGMA = 5.0  # sigma: a single point this far off the level is a change that needs a rerun
MIN_MEAN_DEVIATIONS = 5.0  # a mean of several points that is this many of its standard deviations off needs a rerun
MAX_POINT_SIGMA = 5.0  # sigma: the most that one point contributes to that mean
NOISE_CAUTION_POINTS = 8  # an estimate of sigma from n points is raised by the factor 1 + 8 / n
MIN_EACH_SIGMA = (0.0, 5.0, 2.5, 1.4, 1.2)  # sigma: if 1, 2, 3 or 4 points left the level, each is this far off it
MIN_FOLLOWED_SIGMA = 0.5  # sigma: older points are not added to three or more whose mean is nearer to the level
FAR_STEP_SIGMA = 8.0  # sigma: a step of at least this size is so large that a run near the old level is before it
MAX_SHARE_BEFORE_STEP = (
    1 / 8
)  # a run is before such a step if it left the old level by less than this share of the step
MIN_OUTLIER_FACTOR = 1.2  # a single point must be this many times as far off the level as outliers are
MIN_MEAN_SIGMA = 2.2  # sigma: smallest distance of the mean of several points from the level


def compute_median(values: Sequence[float]) -> float:
    """Return the median of at least one value."""
    sorted_values = sorted(values)
    n = len(sorted_values)
    return (sorted_values[(n - 1) // 2] + sorted_values[n // 2]) / 2


def find_newest_change(
    recent_values: Sequence[float],
    noise: Noise,
    find_outlier_distance: Callable[[], float],
    reruns: Sequence[float] = (),
) -> LevelChange | None:
    """Return a change if the newest points left the level before them; None if they did not.

    A change counts as certain if chance alone would hardly order the runs like this; whether the host wanders is not
    judged here.

    The statistic is the sum of bounded deviations over the newest k points, for each k: the generalised likelihood
    ratio of Willsky and Jones, "A generalized likelihood ratio approach to the detection and estimation of jumps",
    IEEE TAC 21 (1976).

    Parameters
    ----------
    recent_values : sequence of floats
        The points since the last change, of which at most ``MAX_NEWEST_POINTS + REFERENCE_POINTS`` are read.
    find_outlier_distance : function
        Returns the distance from the level that outliers of this series reach.
    reruns : sequence of floats
        All measurements of the newest point if it was measured again: they replace its value.

    Returns
    -------
    LevelChange or None
        Its indices are those of ``recent_values``. The points ``index … high - 1`` lie between the two levels, so it
        is unknown whether they belong to the old or the new one.
    """
    n = len(recent_values)
    # How many points may be new: of a short series at most half, because the others have to show the previous level.
    max_length = min(MAX_NEWEST_POINTS, max(n // 2, n - REFERENCE_POINTS))
    if max_length < 1 or noise.sigma <= 0:
        return None

    # Offsets of the newest point from the previous level, in sigma; positive in the direction in which it left it.
    reference_points = recent_values[max(0, n - max_length - REFERENCE_POINTS) : n - max_length]
    level = compute_median(reference_points)
    cautious_sigma = noise.sigma * (1 + NOISE_CAUTION_POINTS / noise.points)  # few points may show too little noise
    newest_offsets = [(value - level) / cautious_sigma for value in (reruns or recent_values[-1:])]
    direction = 1.0 if compute_median(newest_offsets) > 0 else -1.0
    offsets = sorted((offset * direction for offset in newest_offsets), reverse=True)

    # Several points: how many left the level, and whether the change is certain.
    earlier_values = recent_values[-2 : -max_length - 1 : -1]
    length = _count_points_off_level(
        offsets,
        earlier_values,
        level=level,
        scale=direction / cautious_sigma,
        noise=noise,
        n_reference=len(reference_points),
    )
    if length:
        # If all points of a short series that can be new are off the level, the level may mix both sides.
        if length == max_length < MAX_NEWEST_POINTS:
            length = _extend_to_older_points(recent_values, length, level)
            reference_points = recent_values[max(0, n - length - REFERENCE_POINTS) : n - length]
            level = compute_median(reference_points)
        length = _exclude_points_before_step(recent_values, length, level, cautious_sigma)
        runs = [*recent_values[n - length : n - 1], *(reruns or recent_values[-1:])]
        values = np.array([*recent_values[max(0, n - length - MAX_POINTS_PER_SIDE) : n - length], *runs])
        split = len(values) - len(runs)
        z_scores = [(value - level) / cautious_sigma * direction for value in runs]
        is_certain = (
            _is_shift_significant(z_scores, noise.inflation, len(reference_points))
            and compute_shift_shortfall(values, split) == 0  # chance hardly ever orders the runs like this
        )
        after = compute_median(runs)
        level = find_agreed_level(np.array(reference_points[::-1]), level, cautious_sigma)
        return _make_change(
            n - length,
            level,
            after,
            wants_rerun=not is_certain,
            n_between=count_runs_between(runs, after, level, cautious_sigma),
        )

    # A single point is a suspicion if it is farther off the level than the outliers of this series.
    z_score = newest_offsets[0] * direction
    if (
        len(newest_offsets) == 1
        and z_score >= MIN_SINGLE_SIGMA
        and z_score * cautious_sigma >= MIN_OUTLIER_FACTOR * find_outlier_distance()
    ):
        level = find_agreed_level(np.array(reference_points[::-1]), level, cautious_sigma)
        return _make_change(n - 1, level, recent_values[-1], wants_rerun=True)
    return None


def _make_change(index: int, before: float, after: float, *, wants_rerun: bool, n_between: int = 0) -> LevelChange:
    """Return a change among the newest points; the first ``n_between`` of them lie between its levels."""
    return LevelChange(
        index=index,
        before=before,
        after=after,
        low=index,
        high=index + n_between,
        rule="newest",
        wants_rerun=wants_rerun,
    )


def _count_points_off_level(
    newest_offsets: Sequence[float],
    earlier_values: Sequence[float],
    *,
    level: float,
    scale: float,
    noise: Noise,
    n_reference: int,
) -> int:
    """Return how many of the newest points left the level; 0 if none did.

    The count starts with the newest point, which has several offsets if it was measured again; the points before it are
    added one by one. Among the counts whose bounded offsets are large enough, the one with the largest gain is chosen.
    The gain is the squared sum of the offsets divided by the variance of this sum for independent points of variance
    1, which includes the variance of the level, estimated from ``n_reference`` points.

    Parameters
    ----------
    newest_offsets
        The offsets of the newest point from the level, in sigma, the largest first.
    earlier_values
        The values before it, newest first.
    scale
        Converts a difference from the level to an offset in sigma that is positive on the side of the newest point.
    """
    total = best_gain = 0.0
    n_best = 0
    min_offset = newest_offsets[-1]
    limit = MAX_POINT_SIGMA
    for offset in newest_offsets:
        total += max(-limit, min(limit, offset))
    count = len(newest_offsets)  # measurements so far; the newest point may have several
    n_points = 1
    for value in (*earlier_values, None):
        # Stop where the mean of the measurements comes back near the level.
        if total <= (MIN_FOLLOWED_SIGMA * count if count > 2 else 0.0):
            break
        # MIN_EACH_SIGMA applies to each of up to four measurements; more are judged only by their mean.
        if total >= MIN_MEAN_SIGMA * count and (count > 4 or (count > 1 and min_offset >= MIN_EACH_SIGMA[count])):
            gain = total * total / (count + count * count / n_reference)
            if gain > best_gain:
                best_gain, n_best = gain, n_points
        if value is None:  # no earlier value is left
            break
        next_offset = (value - level) * scale
        if next_offset < min_offset:  # noqa: PLR1730 - calling min() is slower
            min_offset = next_offset
        total += limit if next_offset > limit else next_offset if next_offset > -limit else -limit
        count += 1
        n_points += 1
    # Autocorrelated noise makes the sum vary more than independent points: its variance grows by noise.inflation.
    return n_best if best_gain >= MIN_MEAN_DEVIATIONS * MIN_MEAN_DEVIATIONS * noise.inflation else 0


def _extend_to_older_points(recent_values: Sequence[float], n_newest: int, level: float) -> int:
    """Return how many of the newest points are at the new level, which may be more than half of a short series.

    In that case, the previous level was computed from points of both levels. So the points just before the newest ones
    are added to the new level while they lie nearer to it than to the previous one. Otherwise the new level would seem
    to begin at the revision that was rerun.
    """
    begin = len(recent_values) - n_newest
    after = compute_median(recent_values[begin:])
    while begin > 1 and abs(recent_values[begin - 1] - after) < abs(recent_values[begin - 1] - level):
        begin -= 1
    return len(recent_values) - begin


def _exclude_points_before_step(recent_values: Sequence[float], n_newest: int, level: float, sigma: float) -> int:
    """Return how many of the newest points are off the level, without the first ones if they hardly left it.

    Otherwise an outlier just before a large step would be taken for a part of the step.

    Parameters
    ----------
    n_newest
        How many of the newest points are off the level, with the first ones.
    """
    step = abs(compute_median(recent_values[-n_newest:]) - level)
    if step < FAR_STEP_SIGMA * sigma:
        return n_newest
    while n_newest > 1 and abs(recent_values[-n_newest] - level) < MAX_SHARE_BEFORE_STEP * step:
        n_newest -= 1
    return n_newest


def _is_shift_significant(z_scores: Sequence[float], inflation: float, n_reference: int) -> bool:
    """Return whether the newest runs together lie significantly off the level.

    Each z-score is limited to 1.5 times the median z-score, so that two far outliers among ordinary runs are not
    significant.

    Parameters
    ----------
    inflation
        The factor by which the variance of the sum grows, because the noise of successive runs is correlated.
    n_reference
        The number of runs from which the level was estimated.
    """
    limit = min(MAX_POINT_SIGMA, 1.5 * compute_median(z_scores))
    # The standard deviation of the sum: from the noise of its runs, and from that of the level, which each run shares.
    deviation = math.sqrt(len(z_scores) * inflation * (1 + len(z_scores) / n_reference))
    return sum(min(z_score, limit) for z_score in z_scores) >= MIN_MEAN_DEVIATIONS * deviation
