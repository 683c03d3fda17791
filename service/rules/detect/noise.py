"""Estimates how much a series moves while nothing changes: scale, autocorrelation, distance of outliers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from service.rules.detect.median_of_nine import Floats, compute_medians_of_nine

# The mean of the smallest 60, 35, 90 and 95 % of |z| for a normal z, times sqrt(2) because z is the difference of two
# points.
_TRIM_60 = 0.3966 * 2**0.5
_TRIM_35 = 0.2231 * 2**0.5
_TRIM_90 = 0.6573 * 2**0.5
_TRIM_95 = 0.7169 * 2**0.5
MIN_SIGMA_SHARE = 1e-9  # sigma of a noisy series is at least this share of its largest value; less is rounding error
LARGE_STEP_SIGMA = 4.0  # sigma: a change of at least this size is judged independently of other changes
MIN_POINTS_TO_KNOW_RHO = 64  # points that are enough to show whether successive runs are independent
MAX_MODE_SPREAD = 0.5  # share of sigma: if runs scatter less than this around the nearest mode, the series has modes
_MIN_POINTS_FOR_DISTANCE = 48  # of fewer points, 1.5 % are less than one point
_MAX_POINTS_FOR_DISTANCE = 1024  # enough for a stable estimate, and it bounds the time for longer series
_OUTLIER_SHARE = 0.015  # at most this share of the points count as outliers
RHO_SHRINKAGE = 1.5  # standard errors by which the autocorrelation is shrunk towards 0
_MAX_RHO = 0.9  # a larger autocorrelation is indistinguishable from changes of level
_MIN_POINTS_FOR_RHO = 32  # fewer points say nothing about the autocorrelation
_MAX_REPEATING_SHARE = 0.2  # a series mostly repeats if at most this share of its points differ from the one before
_SMALLEST_SIGMA = 1e-150  # not zero, and large enough that its square does not underflow


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a series.

    Attributes
    ----------
    sigma : float
        Standard deviation of one point around its level, unit of the series; 0 for a series that mostly repeats.
    rho : float
        Lag-1 autocorrelation, 0 … 0.9.
    points : int
        Number of points that the estimate is based on.
    mode_sigma : float
        Standard deviation of one point around the nearest of several modes, unit of the series.
    """

    sigma: float
    rho: float
    points: int
    mode_sigma: float = 0.0

    @property
    def inflation(self) -> float:
        """Variance of a mean, relative to that of independent points: ``(1 + rho) / (1 - rho)``."""
        return (1 + self.rho) / (1 - self.rho)

    @property
    def has_modes(self) -> bool:
        """Whether runs lie near one of several modes rather than near the level, so that only their order is used."""
        return self.mode_sigma < MAX_MODE_SPREAD * self.sigma


def count_points_for_noise(n: int) -> int:
    """Return the number of points to estimate the noise from: n rounded down to three significant bits.

    Above 1,024 points it is rounded down to a power of two. Appending a point changes the estimate only where this
    number changes, so that estimating costs O(1) per append on average.
    """
    step = 1 << max(0, n.bit_length() - (3 if n <= 1024 else 1))
    return n - n % step


def estimate_trimmed_scale(sorted_differences: Floats, share: float = 0.6, constant: float = _TRIM_60) -> float:
    """Estimate sigma from the trimmed mean of the absolute differences of neighbours, consistent for a normal series.

    Differences are used instead of values, so that steps do not count (von Neumann, "Distribution of the ratio of the
    mean square successive difference to the variance", 1941). The largest are trimmed, so that outliers do not count.
    For small integers, this estimate is less coarse than the median absolute deviation.

    Parameters
    ----------
    share
        The share of the differences that is kept: the smallest.
    constant
        The mean of the kept differences for a normal series of sigma 1.
    """
    n_kept = max(1, round(share * len(sorted_differences)))
    return float(sorted_differences[:n_kept].sum()) / n_kept / constant


def estimate_autocorrelation(x: Floats, bound: float) -> float:
    """Estimate the lag-1 autocorrelation, 0 … 0.9, shrunk towards 0 by 1.5 standard errors.

    The estimate comes from the mean squares of the lag-1, lag-2 and lag-3 differences, each clipped at ``bound``. Their
    ratio ``(lag_2 + lag_3) / (2 * lag_1)`` is ``1 + rho + rho² / 2`` for an AR(1) process, and a step hardly changes
    it. Chakar, Lebarbier, Lévy-Leduc and Robin do the same with lag 2 and medians: "A robust approach for estimating
    change-points in the mean of an AR(1) process", Bernoulli 23 (2017).
    """
    lag_1, lag_2, lag_3 = (_compute_mean_square(x[lag:] - x[:-lag], bound) for lag in (1, 2, 3))
    excess = (lag_2 + lag_3) / (2 * lag_1) - 1 if lag_1 > 0 else 0.0
    rho = math.sqrt(1 + 2 * max(0.0, excess)) - 1
    return min(_MAX_RHO, max(0.0, rho - RHO_SHRINKAGE / math.sqrt(len(x))))


def _compute_mean_square(differences: Floats, bound: float) -> float:
    """Return the mean square of differences, each clipped at ``bound``, in units of ``bound``; overwrite the array."""
    bounded_differences = np.minimum(np.abs(differences, out=differences), bound, out=differences)
    bounded_differences /= bound  # the square of a huge number would overflow
    return float(np.square(bounded_differences).mean())  # np.dot would leave its threads spinning after a long series


def estimate_noise(x: Floats, sorted_differences: Floats | None = None) -> Noise:
    """Estimate the noise of a series from its first points.

    Parameters
    ----------
    x : array of n floats
        The series.
    sorted_differences : array of n - 1 floats, optional
        The absolute differences of neighbours in order of size, where they are known.
    """
    n = len(x)
    if n < 3:
        return Noise(sigma=0.0, rho=0.0, points=n)
    differences = x[1:] - x[:-1]
    if sorted_differences is None:
        sorted_differences = sort_sizes(differences)
    if np.count_nonzero(sorted_differences) <= max(1.0, _MAX_REPEATING_SHARE * len(differences)):
        return Noise(sigma=0.0, rho=0.0, points=n)
    # Standard deviation of one point around its level. If many points repeat, the smallest differences are too small,
    # so the estimate from the smallest 90 % counts as well, times 0.9 because these include outliers.
    sigma = max(
        estimate_trimmed_scale(sorted_differences), 0.9 * estimate_trimmed_scale(sorted_differences, 0.9, _TRIM_90)
    )
    if sigma == 0.0:  # 60 … 80 % of the points repeat
        sigma = estimate_trimmed_scale(sorted_differences, 0.95, _TRIM_95)
    largest_value = max(float(x.max()), -float(x.min()))
    sigma = max(sigma, MIN_SIGMA_SHARE * largest_value, _SMALLEST_SIGMA)
    # Autocorrelation hides a part of the noise: differences of neighbours are smaller by the factor sqrt(1 - rho). Each
    # is clipped at three of its standard deviations, sqrt(2) * sigma.
    rho = estimate_autocorrelation(x, 3 * 2**0.5 * sigma) if n >= _MIN_POINTS_FOR_RHO else 0.0
    # The smallest third of the differences are mostly between two points of one mode.
    mode_sigma = min(sigma, estimate_trimmed_scale(sorted_differences, 0.35, _TRIM_35))
    return Noise(sigma=sigma / (1 - rho) ** 0.5, rho=rho, points=n, mode_sigma=mode_sigma / (1 - rho) ** 0.5)


def sort_sizes(differences: Floats) -> Floats:
    """Return the absolute differences in order of size."""
    sorted_sizes: Floats = np.abs(differences)
    sorted_sizes.sort()
    return sorted_sizes


def estimate_outlier_distance(x: Floats) -> float:
    """Return the distance from the level that 1.5 % of single points exceed; 0.0 if there are too few points."""
    if len(x) < _MIN_POINTS_FOR_DISTANCE:
        return 0.0
    newest_values = x[-_MAX_POINTS_FOR_DISTANCE:]
    # The first and last four points have no median of nine around them.
    distances = np.sort(np.abs(newest_values[4:-4] - compute_medians_of_nine(newest_values)))
    return float(distances[int((1 - _OUTLIER_SHARE) * len(distances))])
