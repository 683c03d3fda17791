"""Describes a slow drift of the host by waves along the order of the measurements, and takes it out of their sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from service.rules.bisect.summed_measurements import Floats, SummedMeasurements

DRIFT_PRIOR_ODDS = 0.05
"""Prior odds of each number of waves against no drift of the host."""
RUNS_PER_WAVE = 8
"""A drift of the host is removed with one wave for this many runs: what changes faster is noise."""
MIN_WAVE_SHARE = 1e-9
"""If the groups and the earlier waves explain all but this share of a wave's sum of squares, the wave is ignored."""


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sums of squares and products, within the groups, of the regressor of each hypothesis and of the values."""

    xx: Floats
    xy: Floats
    yy: float
    degrees_of_freedom: float


def list_wave_counts(n_measurements: int) -> list[int]:
    """Return the numbers of waves with which a drift of the host may be described; 0 means that there is none."""
    max_waves = n_measurements // RUNS_PER_WAVE
    # Powers of two are enough: the numbers between them hardly describe a drift better.
    return [0, *(2**power for power in range(max_waves.bit_length())), max_waves]


def weigh_wave_counts(log_evidence: Mapping[int, float]) -> tuple[int, dict[int, float]]:
    """Return the best number of waves, and the weight of each number by its evidence; that of the best one is 1."""
    evidence = {n_waves: value + (log(DRIFT_PRIOR_ODDS) if n_waves else 0) for n_waves, value in log_evidence.items()}
    best_count = max(evidence, key=evidence.__getitem__)
    return best_count, {n_waves: exp(value - evidence[best_count]) for n_waves, value in evidence.items()}


def subtract_waves(
    sums: GroupSums, data: SummedMeasurements, membership: Floats, after: Floats, wave_counts: Sequence[int]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return Sxx, Sxy, Syy and the degrees of freedom after a drift of the host, a sum of slow waves, is regressed out.

    Sxx and Sxy have the shape (numbers of waves, hypotheses); Syy and the degrees of freedom have the shape (numbers of
    waves, 1).
    """
    max_waves = max(wave_counts)
    if not max_waves:
        rows = np.ones((len(wave_counts), 1))
        return rows * sums.xx, rows * sums.xy, rows * sums.yy, rows * sums.degrees_of_freedom

    # Products, within the groups, of the waves with each other, with the regressors and with the values.
    measured_tests = np.flatnonzero(data.counts)
    sums_by_test, products_with_values = _sum_waves_by_test(data, max_waves)
    sums_by_test = sums_by_test[:, measured_tests]
    means_by_group = sums_by_test @ membership / np.maximum(membership.T @ data.counts[measured_tests], 1)
    n_measurements = len(data.values)
    products_with_each_other = np.eye(max_waves) * n_measurements / 2 - means_by_group @ (sums_by_test @ membership).T
    products_with_regressors = (
        sums_by_test @ after - means_by_group @ (membership * data.counts[measured_tests][:, None]).T @ after
    )
    products_with_values = products_with_values - means_by_group @ (membership.T @ data.sums[measured_tests])

    # The same products after each wave is made orthonormal to the earlier ones. If the groups and the earlier waves
    # explain a wave, only rounding errors are left of it; the small constant keeps its products near 0.
    triangle = np.linalg.cholesky(products_with_each_other + np.eye(max_waves) * n_measurements * MIN_WAVE_SHARE)
    products = np.linalg.solve(triangle, np.column_stack((products_with_regressors, products_with_values)))
    regressor_products, value_products = products[:, :-1], products[:, -1:]
    # A wave that is explained takes no degree of freedom; the small constant is only a tenth of this limit.
    is_free = np.diagonal(triangle)[:, None] ** 2 > 10 * n_measurements * MIN_WAVE_SHARE

    # For each number of waves, the sums that they explain.
    wave_sums = (regressor_products**2, value_products * regressor_products, value_products**2, is_free)
    explained_xx, explained_xy, explained_yy, n_free_waves = (
        np.concatenate((np.zeros((1, part.shape[1])), part.cumsum(axis=0)))[list(wave_counts)] for part in wave_sums
    )
    return (
        (sums.xx - explained_xx).clip(0, None),
        sums.xy - explained_xy,
        (sums.yy - explained_yy).clip(0, None),
        np.maximum(1.0, sums.degrees_of_freedom - n_free_waves),
    )


def _sum_waves_by_test(data: SummedMeasurements, n_waves: int) -> tuple[Floats, Floats]:
    """Return the sum of each slow wave over the measurements of each test, and its product with all values.

    The shapes of the arrays are (waves, tests) and (waves,). The waves are the first basis functions of a cosine
    transform along the order of the measurements: they are orthogonal, and the sum of squares of each is half the
    number of measurements.
    """
    n_measurements = len(data.values)
    time = (np.arange(n_measurements) + 0.5) * np.pi / max(1, n_measurements)
    wave_values = np.cos(np.outer(np.arange(1, n_waves + 1), time))
    sums_by_test = np.stack(
        [np.bincount(data.test_of, wave, len(data.counts)).astype(np.float64) for wave in wave_values]
    )
    return sums_by_test, np.asarray(wave_values @ data.values, dtype=np.float64)
