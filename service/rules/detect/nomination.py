"""Nominates the changes that a few runs of a noisy program make likely; interleaved pairs prove or refute them.

A handful of noisy runs makes nothing certain. But a comparison of the two sides in one session settles the question
within minutes, so a nomination has to be cheap and sensitive, not certain: docs/explanation/detection.md, "Two steps".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

import numpy as np

from runner.contract.number_text import format_number
from service.rules.detect.input_numbers import subtract_origin
from service.rules.detect.level_change import Number, format_change
from service.rules.detect.median_of_nine import Floats

MAX_NOMINATED_POINTS = 64
"""The newest points of a level among which a change is nominated; for longer levels, the detector is enough."""
MAX_LIKELY_CHANCE = 0.02
"""If unchanged runs would be split as far anywhere with at most this probability, a change is likelier than not: about
one commit in fifty moves a metric."""
MAX_WORTHWHILE_CHANCE = 0.9
"""The same probability for a change that is worth a comparison if there is time."""
MIN_RUNS_TO_CLIP = 8
"""Outliers are clipped only if there are at least this many runs."""
MAX_OUTLIER_DEVIATIONS = 4.0
"""Runs that are more than this many standard deviations from their median are clipped."""
MAX_LIKELIHOOD_LOSS = 2.0
"""A position lies in the interval if its log-likelihood is lower than the best one by at most this: about the loss at
the end of a 95 % confidence interval by the likelihood ratio (1.92)."""
PRIOR_DEGREES = 2.0
"""Degrees of freedom by which the spread of samples within runs counts as an estimate of the noise between runs."""

_NORMAL_DISTRIBUTION = NormalDist()


@dataclass(frozen=True, slots=True)
class Nomination:
    """A likely change of level.

    Attributes
    ----------
    index
        First point of the new level, at the most likely position.
    low, high
        Range of the positions that are nearly as likely.
    before, after
        Medians of the two sides.
    chance
        Probability of a split at least as large among runs without a change.
    """

    index: int
    low: int
    high: int
    before: Number
    after: Number
    chance: float

    @property
    def is_likely(self) -> bool:
        """Whether the change is likelier than not."""
        return self.chance <= MAX_LIKELY_CHANCE

    def describe(self) -> str:
        """Say in one sentence what the runs show."""
        return (
            f"{format_change(self.before, self.after)}: without a real change, a split this large would occur with a "
            f"probability of {format_number(self.chance)}"
        )


def nominate_change(values: Sequence[Number], samples: Sequence[Sequence[Number]]) -> Nomination | None:
    """Return the most likely change of level among a few runs; None if none is worth a comparison.

    The statistic is Student's t between the two sides of each split ("The probable error of a mean", Biometrika 6,
    1908), with the spread of the samples as a weak second estimate of the noise. Its probability is multiplied by the
    number of splits.

    Parameters
    ----------
    values : sequence of n numbers
        The runs of one level, oldest first; the last ``MAX_NOMINATED_POINTS`` are read.
    samples : sequence of n sequences
        For each value, the samples whose median it is.
    """
    begin = max(0, len(values) - MAX_NOMINATED_POINTS)
    if len(set(values[begin:])) < 2:  # no run differs from another one
        return None
    runs = _clip_outliers(np.asarray(subtract_origin(values[begin:], values[begin])))
    prior_variance = _estimate_variance(samples[begin:])
    statistics, degrees = compute_split_statistics(runs, prior_variance)
    if degrees <= 0:  # of two runs whose samples do not vary, nothing shows the noise
        return None

    # The best split, and the probability that unchanged runs have an equally good one.
    best_split = int(statistics.argmax())
    probability = min(1.0, len(statistics) * _compute_tail(float(statistics[best_split]), degrees))
    if probability > MAX_WORTHWHILE_CHANCE:
        return None

    # The positions that are nearly as likely: by the log-likelihood of normal noise of unknown variance.
    likelihoods = (len(runs) + PRIOR_DEGREES) / 2 * np.log1p(statistics / degrees)
    likely_positions = np.flatnonzero(likelihoods >= likelihoods[best_split] - MAX_LIKELIHOOD_LOSS)
    # Split i lies after run i, so the new level begins with run i + 1.
    return Nomination(
        index=begin + best_split + 1,
        low=begin + int(likely_positions[0]) + 1,
        high=begin + int(likely_positions[-1]) + 1,
        before=median(values[begin : begin + best_split + 1]),
        after=median(values[begin + best_split + 1 :]),
        chance=probability,
    )


def _clip_outliers(runs: Floats) -> Floats:
    """Return the runs with outliers clipped to a distance from the median, because a single outlier is no change.

    A few runs are returned unchanged.
    """
    if len(runs) < MIN_RUNS_TO_CLIP:
        return runs
    center = median(runs.tolist())  # of so few numbers, faster than NumPy's
    # 1.4826 times the median distance from the median estimates the standard deviation of normal noise.
    max_distance = MAX_OUTLIER_DEVIATIONS * 1.4826 * median(np.abs(runs - center).tolist())
    if max_distance == 0:  # most runs are equal, so clipping would remove every difference
        return runs
    clipped: Floats = np.clip(runs, center - max_distance, center + max_distance)
    return clipped


def compute_split_statistics(runs: Floats, prior_variance: float) -> tuple[Floats, float]:
    """Return the squared t statistic of each split of n runs, and its degrees of freedom.

    Parameters
    ----------
    runs : array of n floats
        The runs.
    prior_variance : float
        The variance estimated from the samples within runs; 0 if they do not vary.
    """
    n = len(runs)
    n_before = np.arange(1, n)
    sums = runs.cumsum()[:-1]
    steps = (runs.sum() - sums) / (n - n_before) - sums / n_before  # the mean after each split minus the mean before
    explained_squares = steps * steps * n_before * (n - n_before) / n
    residual_squares = np.maximum(((runs - runs.mean()) ** 2).sum() - explained_squares, 0.0)
    prior_degrees = PRIOR_DEGREES if prior_variance > 0 else 0.0
    degrees = n - 2 + prior_degrees
    # Without degrees of freedom, nothing shows the variance; the divisor 1 only keeps the quotient defined.
    variance = (residual_squares + prior_degrees * prior_variance) / max(degrees, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics: Floats = np.where(explained_squares > 0, explained_squares / variance, 0.0)
    return statistics, degrees


def _estimate_variance(samples: Sequence[Sequence[Number]]) -> float:
    """Return the variance of a run's median, estimated from the samples within runs; 0 if all samples agree."""
    # The median of n normal samples has about π ∕ 2 times the variance of their mean. NumPy is not used: for the few
    # samples of a run, an array takes ten times as long.
    variances = [_compute_variance(values) * math.pi / 2 / len(values) for values in samples if len(values) > 1]
    return sum(variances) / len(variances) if variances else 0.0


def _compute_variance(values: Sequence[Number]) -> float:
    """Return the unbiased variance of two or more numbers."""
    center = sum(values) / len(values)
    residuals = [value - center for value in values]
    return sum(residual * residual for residual in residuals) / (len(values) - 1)  # `**` of huge floats raises


def _compute_tail(statistic: float, degrees: float) -> float:
    """Return the probability of a squared t statistic larger than ``statistic``.

    Uses the transformation to a normal variable by Wallace, "Bounds on normal approximations to Student's and the
    chi-square distributions", Annals of Mathematical Statistics 30 (1959).
    """
    if math.isinf(statistic):
        return 0.0
    normal = (8 * degrees + 1) / (8 * degrees + 3) * math.sqrt(degrees * math.log1p(statistic / degrees))
    return 2 * _NORMAL_DISTRIBUTION.cdf(-normal)
