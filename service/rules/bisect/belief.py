"""Computes the posterior probability of each hypothesis about noisy measurements.

A *test* is what can be measured: a commit, or a mixture of settings. A *hypothesis* states for each test whether it
lies before or after a step of unknown size. The measurements are normal around unknown levels, with an unknown
variance; step, levels and variance are integrated out. A slow drift of the host, if there is one, is regressed out: a
sum of waves along the order of the measurements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.rules.bisect.host_drift_waves import GroupSums, subtract_waves
from service.rules.bisect.summed_measurements import Bools, Floats, SummedMeasurements

STEP_PRIOR_SIGMA = 2.0
"""Standard deviation of the prior for a step, in units of the noise."""
MIN_PROBABILITY = 1e-9
"""Hypotheses less probable than this do not influence where to measure."""
_MIN_SQUARE_SUM = 1e-9
"""If the sum of squares of a regressor within the groups is at most this, it is constant apart from rounding errors."""
_SMALLEST_DIVISOR = 1e-300
"""Replaces a variance of zero, so that divisions by it and logarithms of it are defined."""


_MAX_CONVERTED_VALUES = 1 << 24
"""At most this many truth values are converted to floats at a time: 128 MiB."""


@dataclass(frozen=True, slots=True)
class Belief:
    """The posterior probabilities of each hypothesis and of no step, and the posterior levels under each hypothesis."""

    probabilities: Floats
    """Probability of each hypothesis."""
    no_step_probability: float
    """Probability that there is no step."""
    groups: npt.NDArray[np.intp]
    """Group of each test."""
    no_step_levels: Floats
    """Level of each group if there is no step."""
    levels_before: Floats
    """``levels_before[group, hypothesis]``: level before the step."""
    expected_steps: Floats
    """Posterior mean of the step under each hypothesis."""
    step_errors: Floats
    """Posterior standard deviation of the step under each hypothesis."""
    expected_square_steps: Floats
    """Posterior mean of the squared step. Unlike the mean step, it is not 0 if both signs are equally probable."""
    level_variances: Floats
    """``level_variances[side, hypothesis]``: variance of the level before or after, relative to that of the noise."""
    noise_variance: float
    """Variance of a measurement around its level."""
    log_evidence: float
    """Logarithm of the probability of the measurements, up to a constant that no number of waves changes."""

    def compute_probabilities_after_step(self, after_step: Bools) -> Floats:
        """Return the probability of each test that it lies after the step."""
        return _multiply(after_step, self.probabilities)

    def choose_test(self, after_step: Bools, success_probability: Floats) -> int:
        """Return the test whose measurement is most informative.

        Parameters
        ----------
        after_step
            ``after_step[test, hypothesis]``: whether the test lies after the step.
        success_probability
            The probability of each test that it can be measured.

        Notes
        -----
        The information of a measurement about the hypothesis is approximated, as for normal variables, by
        ½ ln(1 + V∕W): V is the variance of the expected level between the hypotheses, and W is the variance of a
        measurement around it. For two known levels, it is largest where both are equally probable: at the median of
        the posterior. If the levels are uncertain, it favours the side whose level is less certain.
        """
        # Only hypotheses that are still plausible are considered.
        plausible_indices = np.flatnonzero(self.probabilities > MIN_PROBABILITY)
        after = after_step[:, plausible_indices]
        probabilities, before = self.probabilities[plausible_indices], self.levels_before[:, plausible_indices]
        variance_before, variance_after = self.level_variances[:, plausible_indices]
        step, square_step = self.expected_steps[plausible_indices], self.expected_square_steps[plausible_indices]
        groups = self.groups
        # Moments of the expected level of each test, over all hypotheses and the case of no step.
        weighted_step = probabilities * step
        moments = [
            weighted_step,
            probabilities * square_step,
            probabilities * (variance_after - variance_before),
        ]
        first_group_column = len(moments)
        sums = _multiply(after, np.stack([*moments, *(weighted_step * before)]).T)
        step_sums, square_step_sums, variance_sums = sums[:, :first_group_column].T
        no_step_probability, no_step_levels = self.no_step_probability, self.no_step_levels
        mean = (before @ probabilities + no_step_probability * no_step_levels)[groups] + step_sums
        square = (before**2 @ probabilities + no_step_probability * no_step_levels**2)[groups] + square_step_sums
        # Variance of the expected level between the hypotheses, and of a measurement around it. The level after the
        # step is the level before it plus the step, so its square contains their product twice.
        step_products = sums[np.arange(len(groups)), first_group_column + groups]
        level_variance = np.clip(square + 2 * step_products - mean**2, 0, None)
        relative_variance = 1 + variance_sums + variance_before @ probabilities
        measurement_variance = self.noise_variance * relative_variance + _SMALLEST_DIVISOR
        return int(np.argmax(success_probability * np.log1p(level_variance / measurement_variance)))


def _multiply(table: Bools, factors: Floats) -> Floats:
    """Return the matrix product of a table of truth values and an array, row by row if the table is very large.

    NumPy would convert the whole table to floats, which take eight times as much memory.
    """
    n_rows, n_columns = table.shape
    n_rows_at_once = max(1, _MAX_CONVERTED_VALUES // max(1, n_columns))
    products = [
        table[start : start + n_rows_at_once].astype(np.float64) @ factors
        for start in range(0, max(1, n_rows), n_rows_at_once)
    ]
    return np.concatenate(products)


def compute_belief(
    after_step: Bools,
    data: SummedMeasurements,
    no_step_prior: float,
    *,
    groups: npt.NDArray[np.intp] | None = None,
    excluded_indices: Collection[int] = (),
    n_waves: int = 0,
    step_size: float | None = None,
) -> Belief:
    """Return the posterior belief about the hypotheses for one number of waves; see :func:`compute_beliefs`."""
    return compute_beliefs(
        after_step,
        data,
        no_step_prior,
        groups=groups,
        excluded_indices=excluded_indices,
        wave_counts=[n_waves],
        step_size=step_size,
    )[0]


def compute_beliefs(
    after_step: Bools,
    data: SummedMeasurements,
    no_step_prior: float,
    *,
    groups: npt.NDArray[np.intp] | None = None,
    excluded_indices: Collection[int] = (),
    wave_counts: Sequence[int] = (0,),
    step_size: float | None = None,
) -> list[Belief]:
    """Return the posterior belief about the hypotheses, one for each number of waves.

    Parameters
    ----------
    after_step
        ``after_step[test, hypothesis]``: whether the test lies after the step.
    data
        The measurements.
    no_step_prior
        Prior probability that there is no step at all.
    groups
        Group of each test; tests of one group have the same level, apart from this step. By default there is one group.
        Groups account for the steps that are already found.
    excluded_indices
        Hypotheses that are known not to hold.
    wave_counts
        Numbers of waves with which a drift of the host is regressed out.
    step_size
        The size of the step if it is known; its sign is always unknown.

    Notes
    -----
    With noise of variance σ², a step ~ N(0, (sσ)²), flat priors for the levels and the prior 1∕σ² for the variance, the
    Bayes factor of a hypothesis against no step is

        (1 + k)^(−1∕2) · (1 − k∕(1 + k) · Sxy² ∕ (Sxx Syy))^(−(n − g)∕2),  k = s² Sxx,  s = STEP_PRIOR_SIGMA

    where Sxx, Sxy and Syy are the sums of squares and products of n measurements within the g groups. This is the
    g-prior of regression (A. Zellner, 1986) for one regressor that is 0 before the step and 1 after it; neither the
    levels nor the variance have to be known. For a step of known size d, it is the mean, over both signs of d, of

        (1 + (d² Sxx − 2 d Sxy) ∕ Syy)^(−(n − g)∕2)
    """
    # Only measured tests carry information; each belongs to one group. The groups are numbered from 0.
    measured_tests = np.flatnonzero(data.counts)
    groups = np.zeros(len(after_step), dtype=np.intp) if groups is None else np.unique(groups, return_inverse=True)[1]
    membership = (groups[measured_tests, None] == np.arange(groups.max(initial=0) + 1)).astype(np.float64)
    after = after_step[measured_tests].astype(np.float64)

    # Sums of squares and products within the groups, by hypothesis.
    n, total = data.counts[measured_tests], data.sums[measured_tests]
    group_n, group_total = np.maximum(membership.T @ n, 1), membership.T @ total
    after_n = (membership * n[:, None]).T @ after
    after_total = (membership * total[:, None]).T @ after
    share = after_n / group_n[:, None]
    sums = GroupSums(
        xx=(after_n * (1 - share)).sum(axis=0),
        xy=(after_total - share * group_total[:, None]).sum(axis=0),
        yy=float(data.square_sums[measured_tests].sum() - (group_total**2 / group_n).sum()),
        degrees_of_freedom=max(1.0, float(n.sum()) - len(group_n)),
    )
    # The same sums after the waves are regressed out; from here on, the first axis of the arrays is the number of
    # waves.
    xx, xy, yy, degrees_of_freedom = subtract_waves(sums, data, membership, after, wave_counts)

    # Log Bayes factor of each hypothesis, and the posterior mean of its step, with a normal prior for the step.
    k = STEP_PRIOR_SIGMA**2 * xx
    shrinkage = k / (1 + k)
    fit = (
        np.divide(xy**2, xx * yy, out=np.zeros_like(k), where=(xx > _MIN_SQUARE_SUM) & (yy > 0)).clip(0, 1) * shrinkage
    )
    log_factor = -0.5 * np.log1p(k) - degrees_of_freedom / 2 * np.log1p(-fit)
    step = np.divide(xy, xx, out=np.zeros_like(k), where=xx > _MIN_SQUARE_SUM) * shrinkage
    square = step**2
    if step_size is not None:
        log_factor, step = _judge_step_of_known_size(step_size, xx, xy, yy, degrees_of_freedom)
        square = np.full_like(step, step_size**2)
    log_factor[:, list(excluded_indices)] = -np.inf

    no_step_probability, probabilities, evidence = _compute_posterior(log_factor, no_step_prior)
    # Add the log-likelihood of the model without a step, and subtract the penalty of the BIC, ½ ln n for each wave
    # (G. Schwarz, 1978). It accounts for the degrees of freedom that waves take, so the number without waves is used.
    evidence -= sums.degrees_of_freedom / 2 * np.log(np.maximum(yy[:, 0], _SMALLEST_DIVISOR))
    evidence -= np.array(wave_counts) / 2 * np.log(max(2.0, float(n.sum())))

    # The noise, the levels of the groups, and the measurements on both sides of the step.
    noise_variance = (yy * (1 - (probabilities * fit).sum(axis=1, keepdims=True)) / degrees_of_freedom).clip(0, None)[
        :, 0
    ]
    levels = group_total / group_n
    side_counts = np.stack([n.sum() - n @ after, n @ after])
    # A level is known from the measurements on its side, and from the prior for the step between the two levels.
    relative_level_variances = 1 / (side_counts + 1 / STEP_PRIOR_SIGMA**2)
    return [
        Belief(
            probabilities=probabilities[row],
            no_step_probability=float(no_step_probability[row]),
            groups=groups,
            no_step_levels=levels,
            levels_before=levels[:, None] - share * step[row],
            expected_steps=step[row],
            step_errors=np.sqrt(noise_variance[row] * shrinkage[row] / np.maximum(xx[row], _MIN_SQUARE_SUM)),
            expected_square_steps=square[row],
            level_variances=relative_level_variances,
            noise_variance=float(noise_variance[row]),
            log_evidence=float(evidence[row]),
        )
        for row in range(len(wave_counts))
    ]


def _judge_step_of_known_size(
    size: float, xx: Floats, xy: Floats, yy: Floats, degrees_of_freedom: Floats
) -> tuple[Floats, Floats]:
    """Return the log Bayes factor of each hypothesis, and the posterior mean of its step, in [-size, size].

    A priori, both signs of the step are equally probable.

    Parameters
    ----------
    size
        The size of the step, of either sign.
    xx, xy, yy
        The sums of squares and products of each hypothesis, as in :class:`.host_drift_waves.GroupSums`.
    """
    # The remaining sum of squares cannot be negative, but if there is almost no noise, rounding errors can make it so.
    # So its relative change is kept above −1 by more than rounding errors.
    log_factor_up, log_factor_down = (
        -degrees_of_freedom
        / 2
        * np.log1p(((size**2 * xx - sign * 2 * size * xy) / np.maximum(yy, _SMALLEST_DIVISOR)).clip(-1 + 1e-12))
        for sign in (1, -1)
    )
    log_factor = np.logaddexp(log_factor_up, log_factor_down) - np.log(2)
    return log_factor, size * np.tanh((log_factor_up - log_factor_down) / 2)


def _compute_posterior(log_factor: Floats, no_step_prior: float) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities of no step and of each hypothesis, and the log evidence relative to no step.

    The shapes of the arrays are (numbers of waves,), (numbers of waves, hypotheses) and (numbers of waves,).
    """
    n_rows, n_hypotheses = log_factor.shape
    prior_each = (1 - no_step_prior) / n_hypotheses
    weights = np.column_stack((np.full(n_rows, np.log(no_step_prior)), np.log(prior_each) + log_factor))
    largest_weight = weights.max(axis=1, keepdims=True)  # subtracted, so that no exponential overflows
    weights = np.exp(weights - largest_weight)
    evidence = (largest_weight + np.log(weights.sum(axis=1, keepdims=True)))[:, 0]
    weights /= weights.sum(axis=1, keepdims=True)
    return weights[:, 0], weights[:, 1:], evidence
