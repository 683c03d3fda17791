"""Sums up the measurements of a search by test: a commit, or a mixture of settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SummedMeasurements:
    """The measurements, relative to their common mean: for each test, their number, sum and sum of squares.

    Attributes
    ----------
    counts, sums, square_sums
        By test: the number of its measurements, their sum, and the sum of their squares.
    test_of
        The test of each measurement, in order.
    values
        The value of each measurement, in order.
    """

    counts: Floats
    sums: Floats
    square_sums: Floats
    test_of: npt.NDArray[np.intp]
    values: Floats

    @classmethod
    def from_pairs(cls, n_tests: int, measurements: Sequence[tuple[int, float]]) -> SummedMeasurements:
        """Return the sums of (test, value) pairs, with the values taken relative to their mean.

        A test is the number of what was measured: a commit, or a mixture of settings.
        """
        test_of = np.array([test for test, _ in measurements], dtype=np.intp)
        values = np.array([value for _, value in measurements], dtype=np.float64)
        if len(values):
            values = values - values.mean()
        return cls(
            counts=np.bincount(test_of, minlength=n_tests).astype(np.float64),
            sums=np.bincount(test_of, weights=values, minlength=n_tests).astype(np.float64),
            square_sums=np.bincount(test_of, weights=values**2, minlength=n_tests).astype(np.float64),
            test_of=test_of,
            values=values,
        )
