"""Computes how probable each explanation of noisy measurements is.

An *explanation* states for each *test* whether it is measured before or after a step of unknown size. The measurements
are normal around unknown levels, with an unknown spread; all three unknowns are integrated out. So is a slow drift of
the host, if there is one: a sum of waves along the order of the measurements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

STEP_PRIOR_SIGMA = 2.0
"""Standard deviation of the prior for a step, in units of the noise."""
MIN_PROBABILITY = 1e-9
"""Explanations that are less probable than this have no influence on where to measure."""

MIN_WAVE_SHARE = 1e-9
"""A wave of which the groups and the earlier waves leave less than this, relative to its square sum, is none."""


@dataclass(frozen=True, slots=True)
class Data:
    """The measurements of each test: their number, sum and sum of squares, around their common mean."""

    n: Floats
    total: Floats
    squares: Floats
    test_of: npt.NDArray[np.intp]
    """The test of each measurement, in order."""
    values: Floats

    @classmethod
    def from_pairs(cls, tests: int, measurements: Sequence[tuple[int, float]]) -> Data:
        """Return the data of (test, value) pairs."""
        test_of = np.array([test for test, _ in measurements], dtype=np.intp)
        values = np.array([value for _, value in measurements], dtype=np.float64)
        if len(values):
            values = values - values.mean()
        return cls(
            n=np.bincount(test_of, minlength=tests).astype(np.float64),
            total=np.bincount(test_of, weights=values, minlength=tests).astype(np.float64),
            squares=np.bincount(test_of, weights=values**2, minlength=tests).astype(np.float64),
            test_of=test_of,
            values=values,
        )

    def sum_waves_by_test(self, waves: int) -> tuple[Floats, Floats]:
        """Return the sums by test of slow waves along the measurements in order, and their products with the values.

        Arrays (waves, tests) and (waves,). The waves are the first ones of a cosine transform, so that they are
        orthogonal, and the square sum of each is half the number of measurements.
        """
        count = len(self.values)
        time = (np.arange(count) + 0.5) * np.pi / max(1, count)
        drift = np.cos(np.outer(np.arange(1, waves + 1), time))
        by_test = np.stack([np.bincount(self.test_of, wave, len(self.n)).astype(np.float64) for wave in drift])
        return by_test, np.asarray(drift @ self.values, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Belief:
    """The posterior probability of each explanation and of no step, and the levels that each explanation expects."""

    probabilities: Floats
    """Probability of each explanation."""
    no_step: float
    """Probability that there is no step."""
    groups: npt.NDArray[np.intp]
    """Group of each test."""
    level: Floats
    """Level of each group if there is no step."""
    before: Floats
    """``before[group, explanation]``: level before the step."""
    step: Floats
    """Size of the step that each explanation expects."""
    step_error: Floats
    """Standard deviation of that size."""
    square: Floats
    """The expected square of that size. A step of known size whose sign is open is expected to be 0, and is not."""
    doubt: Floats
    """``doubt[side, explanation]``: variance of the level before or after, relative to the variance of the noise."""
    noise: float
    """Variance of a measurement around its level."""
    evidence: float
    """Logarithm of the probability of the measurements, up to a constant that no number of waves changes."""

    def compute_probabilities_after_step(self, effect: Bools) -> Floats:
        """Return the probability of each test to be measured after the step."""
        return effect.astype(np.float64) @ self.probabilities

    def choose(self, effect: Bools, success_probability: Floats) -> int:
        """Return the test whose measurement is most informative.

        Parameters
        ----------
        success_probability
            The probability of each test to be measurable.

        Notes
        -----
        The information of a measurement about the explanation is ½ ln(1 + V∕W), for the variance V of the expected
        levels among the explanations and the variance W of a measurement around them, as if both were normal. For two
        known levels it is largest where both are equally probable: at the median of the suspicion. If the levels are
        in doubt, it favours the side that is known less.
        """
        # Explanations that still have some probability.
        live = np.flatnonzero(self.probabilities > MIN_PROBABILITY)
        steps = effect[:, live].astype(np.float64)
        probabilities, before, doubt = self.probabilities[live], self.before[:, live], self.doubt[:, live]
        step, square_step = self.step[live], self.square[live]
        groups = self.groups
        # Moments, over all explanations and no step, of the level that each test is expected to have.
        weighted_step = probabilities * step
        parts = [weighted_step, probabilities * square_step, probabilities * (doubt[1] - doubt[0])]
        sums = steps @ np.stack([*parts, *(weighted_step * before)]).T
        mean = (before @ probabilities + self.no_step * self.level)[groups] + sums[:, 0]
        square = (before**2 @ probabilities + self.no_step * self.level**2)[groups] + sums[:, 1]
        # Variance of the expected levels among the explanations, and of a measurement around them.
        varied = np.clip(square + 2 * sums[np.arange(len(groups)), 3 + groups] - mean**2, 0, None)
        around = self.noise * (1 + sums[:, 2] + doubt[0] @ probabilities) + 1e-300
        return int(np.argmax(success_probability * np.log1p(varied / around)))


@dataclass(frozen=True, slots=True)
class _GroupSums:
    """Sums of squares and products within the groups: of the regressor of each explanation, and of the values."""

    xx: Floats
    xy: Floats
    yy: float
    freedom: float


def compute_belief(
    effect: Bools,
    data: Data,
    prior_none: float,
    *,
    groups: npt.NDArray[np.intp] | None = None,
    cleared: Collection[int] = (),
    waves: int = 0,
    size: float | None = None,
) -> Belief:
    """Return the posterior belief about the explanations for one number of waves; see :func:`compute_beliefs`."""
    return compute_beliefs(effect, data, prior_none, groups=groups, cleared=cleared, waves=[waves], size=size)[0]


def compute_beliefs(
    effect: Bools,
    data: Data,
    prior_none: float,
    *,
    groups: npt.NDArray[np.intp] | None = None,
    cleared: Collection[int] = (),
    waves: Sequence[int] = (0,),
    size: float | None = None,
) -> list[Belief]:
    """Return the posterior belief about the explanations, one for each number of waves.

    Parameters
    ----------
    effect
        ``effect[test, explanation]``: whether the test is measured after the step.
    data
        The measurements.
    prior_none
        Prior probability that there is no step at all.
    groups
        Group of each test; tests of one group share a level apart from this step. By default there is one group.
        Groups take out the steps that are already found.
    cleared
        Explanations that are known not to hold.
    waves
        How many waves of a drift of the host are taken out.
    size
        The size of the step, if it is known; its sign never is.

    Notes
    -----
    With noise of variance σ², a step ~ N(0, (sσ)²), flat priors for the levels and 1∕σ² for the variance, the Bayes
    factor of an explanation against none is

        (1 + k)^(−1∕2) · (1 − k∕(1 + k) · Sxy² ∕ (Sxx Syy))^(−(n − g)∕2),  k = s² Sxx,  s = STEP_PRIOR_SIGMA

    for the sums of squares and products within the g groups: the g-prior of regression (A. Zellner, 1986) for one
    regressor that is 0 before the step and 1 after it. It requires neither the levels nor the spread to be known. For a
    step of known size d it is the mean, for both signs of d, of

        (1 + (d² Sxx − 2 d Sxy) ∕ Syy)^(−(n − g)∕2)
    """
    # Only measured tests say anything; each belongs to one group.
    measured = np.flatnonzero(data.n)
    groups = np.zeros(len(effect), dtype=np.intp) if groups is None else np.unique(groups, return_inverse=True)[1]
    member = (groups[measured, None] == np.arange(groups.max(initial=0) + 1)).astype(np.float64)
    steps = effect[measured].astype(np.float64)

    # Sums of squares and products within the groups, by explanation.
    n, total = data.n[measured], data.total[measured]
    group_n, group_total = np.maximum(member.T @ n, 1), member.T @ total
    after_n = (member * n[:, None]).T @ steps
    after_total = (member * total[:, None]).T @ steps
    share = after_n / group_n[:, None]
    sums = _GroupSums(
        xx=(after_n * (1 - share)).sum(axis=0),
        xy=(after_total - share * group_total[:, None]).sum(axis=0),
        yy=float(data.squares[measured].sum() - (group_total**2 / group_n).sum()),
        freedom=max(1.0, float(n.sum()) - len(group_n)),
    )
    # The same without the waves; from here on, the first axis of the arrays is the number of waves.
    xx, xy, yy, freedom = _subtract_waves(sums, data, member, steps, waves)

    # Logarithm of the Bayes factor of each explanation, with a normal prior for the step, or with its known size.
    k = STEP_PRIOR_SIGMA**2 * xx
    shrink = k / (1 + k)
    fit = np.divide(xy**2, xx * yy, out=np.zeros_like(k), where=(xx > 1e-9) & (yy > 0)).clip(0, 1) * shrink
    factor = -0.5 * np.log1p(k) - freedom / 2 * np.log1p(-fit)
    if size is not None:
        up, down = (
            # What is left of the squares is not negative; rounding can make it so where the noise is almost nothing.
            -freedom / 2 * np.log1p(((size**2 * xx - sign * 2 * size * xy) / np.maximum(yy, 1e-300)).clip(-1 + 1e-12))
            for sign in (1, -1)
        )
        factor = np.logaddexp(up, down) - np.log(2)
    factor[:, list(cleared)] = -np.inf

    # Posterior probabilities of no step (first column) and of each explanation, and the evidence of the whole model.
    prior_each = (1 - prior_none) / effect.shape[1]
    weights = np.column_stack((np.full(len(waves), np.log(prior_none)), np.log(prior_each) + factor))
    largest = weights.max(axis=1, keepdims=True)
    weights = np.exp(weights - largest)
    evidence = (largest + np.log(weights.sum(axis=1, keepdims=True)))[:, 0]
    evidence -= sums.freedom / 2 * np.log(np.maximum(yy[:, 0], 1e-300))
    evidence -= np.array(waves) / 2 * np.log(max(2.0, float(n.sum())))
    weights /= weights.sum(axis=1, keepdims=True)

    # Expected step and its square, levels of the groups, and measurements on both sides of the step.
    step = np.divide(xy, xx, out=np.zeros_like(k), where=xx > 1e-9) * shrink
    square = step**2
    if size is not None:
        step, square = size * np.tanh((up - down) / 2), np.full_like(step, size**2)
    noise = (yy * (1 - (weights[:, 1:] * fit).sum(axis=1, keepdims=True)) / freedom).clip(0, None)[:, 0]
    level, sides = group_total / group_n, np.stack([n.sum() - n @ steps, n @ steps])
    return [
        Belief(
            probabilities=weights[row, 1:],
            no_step=float(weights[row, 0]),
            groups=groups,
            level=level,
            before=level[:, None] - share * step[row],
            step=step[row],
            step_error=np.sqrt(noise[row] * shrink[row] / np.maximum(xx[row], 1e-9)),
            square=square[row],
            doubt=1 / (sides + 1 / STEP_PRIOR_SIGMA**2),
            noise=float(noise[row]),
            evidence=float(evidence[row]),
        )
        for row in range(len(waves))
    ]


def _subtract_waves(
    sums: _GroupSums, data: Data, member: Floats, steps: Floats, waves: Sequence[int]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the sums after regressing out slow waves, by which a drift of the host is described.

    Sxx and Sxy as arrays (numbers of waves, explanations), Syy and the degrees of freedom as (numbers of waves, 1).
    """
    most = max(waves)
    if not most:
        rows = np.ones((len(waves), 1))
        return rows * sums.xx, rows * sums.xy, rows * sums.yy, rows * sums.freedom

    # Products of the waves with each other, the regressors and the values, within the groups.
    measured = np.flatnonzero(data.n)
    by_test, with_values = data.sum_waves_by_test(most)
    by_test = by_test[:, measured]
    by_group = by_test @ member / np.maximum(member.T @ data.n[measured], 1)
    count = len(data.values)
    with_each_other = np.eye(most) * count / 2 - by_group @ (by_test @ member).T
    with_regressors = by_test @ steps - by_group @ (member * data.n[measured][:, None]).T @ steps
    with_values = with_values - by_group @ (member.T @ data.total[measured])

    # The same for waves that are orthonormal, each to the earlier ones. A wave that the groups and the earlier waves
    # explain is one of rounding errors, which the small addition keeps near 0.
    triangle = np.linalg.cholesky(with_each_other + np.eye(most) * count * MIN_WAVE_SHARE)
    products = np.linalg.solve(triangle, np.column_stack((with_regressors, with_values)))
    shared, shift = products[:, :-1], products[:, -1:]
    is_free = np.diagonal(triangle)[:, None] ** 2 > 10 * count * MIN_WAVE_SHARE

    # What the first waves take out, for each number of them.
    parts = (shared**2, shift * shared, shift**2, is_free)
    taken = [np.concatenate((np.zeros((1, part.shape[1])), part.cumsum(axis=0)))[list(waves)] for part in parts]
    return (
        (sums.xx - taken[0]).clip(0, None),
        sums.xy - taken[1],
        (sums.yy - taken[2]).clip(0, None),
        np.maximum(1.0, sums.freedom - taken[3]),
    )
