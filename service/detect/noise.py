"""How much a series moves while nothing changes: scale, autocorrelation, two modes, rate of stray jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# E|z| of a normal z among its smallest 60 % and 35 % in absolute value, times sqrt(2) as z is a difference of two points.
_TRIM_60 = 0.3966 * 2**0.5
_TRIM_35 = 0.2231 * 2**0.5
_ONE_PAGE = 1e-9  # relative: differences below this part of the values are rounding, not noise


@dataclass(frozen=True, slots=True)
class Noise:
    """What one point of a series is worth.

    Attributes
    ----------
    sigma : float
        Standard deviation of one point around its level, unit of the series; 0 for a series that mostly repeats.
    rho : float
        Autocorrelation of successive points, 0 … 0.9.
    gap : float
        Distance of the two modes of a bimodal series, unit of the series; 0 where there is one mode.
    stray : float
        Distance from the level that 1.5 % of single points exceed, unit of the series.
    points : int
        How many points this was estimated from.
    """

    sigma: float
    rho: float
    gap: float
    stray: float
    points: int

    @property
    def inflation(self) -> float:
        """Variance of a mean against that of independent points: ``(1 + rho) / (1 - rho)``."""
        return (1 + self.rho) / (1 - self.rho)


def epoch(n: int) -> int:
    """Say how many of the first ``n`` points the noise is estimated from: n to three significant bits, two above 1,024.

    Appending a point changes the estimate only where this changes, so re-reading a series costs O(1) an append on average.
    """
    step = 1 << max(0, n.bit_length() - (3 if n <= 1024 else 1))
    return n - n % step


def trimmed_scale(differences: Floats, part: float = 0.6, constant: float = _TRIM_60) -> float:
    """Estimate sigma from the mean of the smallest absolute differences, consistent for a normal series.

    Differences instead of values, so that steps do not count (von Neumann, 1941); trimmed, so that strays do not either.
    Less coarse on small integers than the median absolute deviation.
    """
    size = np.sort(np.abs(differences))
    keep = max(1, round(part * len(size)))
    return float(size[:keep].mean()) / constant


def find_gap(x: Floats) -> float:
    """Return the distance of two modes between which the series keeps jumping, 0.0 if it has only one.

    Two modes show as many large differences of one size that alternate in sign; strays differ in size and steps are few.
    """
    d = np.diff(x)
    if len(d) < 15:
        return 0.0
    small = trimmed_scale(d, 0.35, _TRIM_35)
    size = np.abs(d)
    big = size > max(8 * small, 1e-12 * float(size.max()))
    if big.mean() < 0.12:
        return 0.0
    jumps = d[big]
    gap = float(np.median(np.abs(jumps)))
    alike = np.abs(np.abs(jumps) - gap) <= max(6 * small, 0.15 * gap)
    alternating = np.sign(jumps[1:]) != np.sign(jumps[:-1])
    return gap if alike.mean() >= 0.7 and len(alternating) and alternating.mean() >= 0.75 else 0.0


def estimate(x: Floats, folded: Floats, gap: float) -> Noise:
    """Estimate the noise of a series from its first points.

    Parameters
    ----------
    x : array of n floats
        The series (only its length and spread are used).
    folded : array of n floats
        The series with its two modes laid on each other (``x`` itself where ``gap`` is 0).
    gap : float
        Distance of the two modes.

    Notes
    -----
    Autocorrelation from the ratio of lag-2 to lag-1 differences, which steps do not disturb: Chakar, Lebarbier, Lévy-Leduc
    and Robin, "A robust approach for estimating change-points in the mean of an AR(1) process", Bernoulli 23 (2017).
    """
    n = len(x)
    if n < 3:
        return Noise(0.0, 0.0, gap, 0.0, n)
    d = np.diff(folded)
    if np.mean(d == 0) >= 0.8:
        return Noise(0.0, 0.0, gap, 0.0, n)
    sigma = trimmed_scale(d)
    if sigma == 0.0:  # 60 … 80 % of the points repeat
        size = np.sort(np.abs(d))
        sigma = float(np.sqrt(np.mean(size[: max(1, int(0.95 * len(size)))] ** 2) / 2)) or float(size[-1])
    rho = 0.0
    if n >= 32:
        ratio = (trimmed_scale(folded[2:] - folded[:-2]) / sigma) ** 2
        rho = min(0.9, max(0.0, ratio - 1.0 - 3.0 / n**0.5))
    sigma = sigma / (1 - rho) ** 0.5
    stray = 0.0
    if n >= 48:
        middle = np.median(np.lib.stride_tricks.sliding_window_view(folded[-1024:], 9), axis=1)
        rest = np.abs(folded[-1024:][4:-4] - middle)
        stray = float(np.quantile(rest, 0.985))
    return Noise(sigma, rho, gap, stray, n)
