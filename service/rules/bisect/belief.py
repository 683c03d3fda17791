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

    def build_drift_waves(self, groups: npt.NDArray[np.intp], waves: int) -> Floats:
        """Return slow waves along the order of the measurements, orthonormal to each other and to the groups' levels.

        One column a wave: the first ones of a cosine transform.
        """
        count = len(self.values)
        time = (np.arange(count) + 0.5) * np.pi / max(1, count)
        drift = np.cos(np.outer(time, np.arange(1, waves + 1)))
        member = np.eye(int(groups.max(initial=0)) + 1)[groups[self.test_of]]
        drift -= member @ ((member.T @ drift) / np.maximum(member.sum(axis=0), 1)[:, None])
        orthonormal, sizes, _ = np.linalg.svd(drift, full_matrices=False)
        return np.asarray(orthonormal[:, sizes > 1e-9 * max(1.0, float(sizes.max(initial=0)))])


@dataclass(frozen=True, slots=True)
class Belief:
    """The probability of each explanation and of no step, and the levels that each explanation expects."""

    each: Floats
    none: float
    groups: npt.NDArray[np.intp]
    """Group of each test."""
    level: Floats
    """Level of each group if there is no step."""
    before: Floats
    """``before[group, explanation]``: level before the step."""
    step: Floats
    """Size of the step that each explanation expects."""
    square: Floats
    """The expected square of that size. A step of known size whose sign is open is expected to be 0, and is not."""
    doubt: Floats
    """``doubt[side, explanation]``: variance of the level before or after, relative to the variance of the noise."""
    noise: float
    """Variance of a measurement around its level."""
    evidence: float
    """Logarithm of the probability of the measurements, up to a constant that no number of waves changes."""

    def compute_probabilities(self, effect: Bools) -> Floats:
        """Return the probability of each test to be measured after the step."""
        return effect.astype(np.float64) @ self.each

    def choose(self, effect: Bools, chance: Floats) -> int:
        """Return the test whose measurement is most informative.

        Parameters
        ----------
        chance
            The probability of each test to be measurable.

        Notes
        -----
        The information of a measurement about the explanation is ½ ln(1 + V∕W), for the variance V of the expected
        levels among the explanations and the variance W of a measurement around them, as if both were normal. For two
        known levels it is largest where both are equally probable: at the median of the suspicion. Where the levels are
        in doubt, it favours the side that is known less.
        """
        # Explanations that still have some probability.
        live = np.flatnonzero(self.each > MIN_PROBABILITY)
        steps = effect[:, live].astype(np.float64)
        each, before, step, doubt = self.each[live], self.before[:, live], self.step[live], self.doubt[:, live]
        square_step = self.square[live]
        groups = self.groups
        # Moments, over all explanations and no step, of the level that each test is expected to have.
        parts = [each * step, each * square_step, each * (doubt[1] - doubt[0]), *(each * step * before)]
        sums = steps @ np.stack(parts).T
        mean = (before @ each + self.none * self.level)[groups] + sums[:, 0]
        square = (before**2 @ each + self.none * self.level**2)[groups] + sums[:, 1]
        # Variance of the expected levels among the explanations, and of a measurement around them.
        varied = np.clip(square + 2 * sums[np.arange(len(groups)), 3 + groups] - mean**2, 0, None)
        around = self.noise * (1 + sums[:, 2] + doubt[0] @ each) + 1e-300
        return int(np.argmax(chance * np.log1p(varied / around)))


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
    """Return the posterior belief about the explanations.

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
    regressor that is 0 before the step and 1 after it. It requires neither the levels nor the spread to be known.
    """
    # Only measured tests say anything; each belongs to one group.
    measured = np.flatnonzero(data.n)
    groups = np.zeros(len(effect), dtype=np.intp) if groups is None else np.unique(groups, return_inverse=True)[1]
    member = (groups[measured, None] == np.arange(groups.max(initial=0) + 1)).astype(np.float64)
    steps = effect[measured].astype(np.float64)

    # Sums of squares and products within the groups, by explanation: of the regressor (sxx), with the values (sxy), and
    # of the values alone (syy).
    n, total = data.n[measured], data.total[measured]
    group_n, group_total = np.maximum(member.T @ n, 1), member.T @ total
    after_n = (member * n[:, None]).T @ steps
    after_total = (member * total[:, None]).T @ steps
    share = after_n / group_n[:, None]
    sxx = (after_n * (1 - share)).sum(axis=0)
    sxy = (after_total - share * group_total[:, None]).sum(axis=0)
    syy = float(data.squares[measured].sum() - (group_total**2 / group_n).sum())
    freedom = max(1.0, float(n.sum()) - len(group_n))
    scale = freedom / 2

    # Take out the waves of a drift of the host: what both the regressor and the values share with them.
    if waves:
        drift = data.build_drift_waves(groups, waves)
        by_test = np.stack([np.bincount(data.test_of, wave, len(effect)) for wave in drift.T])[:, measured]
        shared, shift = by_test @ steps, drift.T @ data.values
        sxx = (sxx - (shared**2).sum(axis=0)).clip(0, None)
        sxy = sxy - shift @ shared
        syy = max(0.0, syy - float(shift @ shift))
        freedom = max(1.0, freedom - len(shift))

    # Logarithm of the Bayes factor of each explanation, with a normal prior for the step, or with its known size.
    k = STEP_PRIOR_SIGMA**2 * sxx
    fit = np.divide(sxy**2, sxx * syy, out=np.zeros_like(sxx), where=(sxx > 1e-9) & (syy > 0)).clip(0, 1) * k / (1 + k)
    factor = -0.5 * np.log1p(k) - freedom / 2 * np.log1p(-fit)
    if size is not None:
        variance = max(1e-300, syy * (1 - float(fit.max(initial=0))) / freedom)
        pull = size * sxy / variance
        factor = np.logaddexp(pull, -pull) - np.log(2) - size**2 * sxx / (2 * variance)
    factor[list(cleared)] = -np.inf

    # Posterior probabilities of no step and of each explanation, and the evidence of the whole model.
    weights = np.concatenate(([np.log(prior_none)], np.log((1 - prior_none) / effect.shape[1]) + factor))
    largest = float(weights.max())
    weights = np.exp(weights - largest)
    evidence = largest + float(np.log(weights.sum())) - scale * float(np.log(max(syy, 1e-300)))
    evidence -= waves / 2 * float(np.log(max(2.0, float(n.sum()))))
    weights /= weights.sum()

    # Expected step and its square, levels of the groups, and measurements on both sides of the step.
    step = np.divide(sxy, sxx, out=np.zeros_like(sxx), where=sxx > 1e-9) * k / (1 + k)
    square = step**2
    if size is not None:
        step, square = size * np.tanh(pull), np.full_like(step, size**2)
    level = group_total / group_n
    sides = np.stack([n.sum() - n @ steps, n @ steps])
    return Belief(
        each=weights[1:],
        none=float(weights[0]),
        groups=groups,
        level=level,
        before=level[:, None] - share * step,
        step=step,
        square=square,
        doubt=1 / (sides + 1 / STEP_PRIOR_SIGMA**2),
        noise=max(0.0, syy * (1 - float(weights[1:] @ fit)) / freedom),
        evidence=evidence,
    )
