"""Drops proposed changes if the levels before and after are not distinct: the two segments become one level.

Where its bounds come from: docs/explanation/detection.md, "Exchangeability" and "Wander".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from service.rules.detect.median_of_nine import Floats
from service.rules.detect.needed_shift import MAX_LACK_IN_DOUBT, find_needed_shift
from service.rules.detect.noise import MIN_POINTS_TO_KNOW_RHO, Noise
from service.rules.detect.normal_scores import MAX_POINTS_PER_SIDE, compute_normal_scores, compute_shifts
from service.rules.detect.rank_sum_test import is_rare

MAX_SPURIOUS_PROPOSALS = 2
"""How many of the proposals after a change may be spurious: the level after the change then extends beyond them."""
MAX_PROPOSAL_ERROR = 6
"""How many points a proposed position may be off."""
MAX_SQUARED_SIGMA_ELSEWHERE = 6.0
"""How much larger the squared shift may be at a position further away: for 95 % of all changes it is less."""
MAX_INFLATION = 20.0
"""Upper bound of the inflation by autocorrelation: a change of level looks like autocorrelation as well."""
MIN_CHANGE_RUNS = 3
"""Each side of a certain change has at least this many measurements."""
MIN_UNPRECEDENTED_SIGMA = 8.0
"""The smallest step to an unprecedented level, in sigma."""
UNPRECEDENTED_POINTS, UNPRECEDENTED_SIGMA = 128, 6.0
"""How many runs before such a step are checked, and how many sigma from the new level all of them must be at least."""
MIN_AGREEING_RUNS = 5
"""How many runs each side of such a step needs."""
MAX_AGREEING_SIGMA, MIN_AGREEING_SHARE = 3.0, 0.8
"""A run agrees with the level of its side if it is at most this many sigma from it; this share of the runs must."""
MAX_LACK_TO_TEST = 1.5
"""If a shift is too small by more standard deviations than this, its values are not worth a further test."""


class DistinctChange(NamedTuple):
    """A change between distinct levels; ``in_doubt`` if more runs must settle it."""

    position: int
    in_doubt: bool


class DistinctLevels:
    """The distinct levels of a growing series with proposed changes, judged from left to right."""

    def __init__(self, noise: Noise) -> None:
        self._noise_factor = math.sqrt(min(noise.inflation, MAX_INFLATION))  # correlated runs enlarge shifts by it
        self._noise = noise
        self.changes: list[DistinctChange] = []
        self._n_changes_up_to: list[int] = []  # for each proposal: how many changes lie at or before it

    def update(self, values: Floats, proposals: Sequence[int], first_changed: int) -> int:
        """Check the proposals from index ``first_changed`` on; return how many changes at the start are as before.

        The verdict on a proposal also depends on the ``MAX_SPURIOUS_PROPOSALS`` after it. The caller therefore passes
        an index that is at least that far before the first proposal that differs.
        """
        del self._n_changes_up_to[first_changed:]
        n_kept = self._n_changes_up_to[-1] if self._n_changes_up_to else 0
        del self.changes[n_kept:]
        for i in range(first_changed, len(proposals)):
            begin = self.changes[-1].position if self.changes else 0
            # The next proposals may be spurious, so the level after this one may end at any of these positions.
            ends = [*proposals[i + 1 : i + 1 + MAX_SPURIOUS_PROPOSALS], len(values)]
            nearest_end, *_ = ends
            if are_distinct(values, begin, proposals[i], ends, self._noise_factor) or is_unprecedented(
                values, begin, proposals[i], nearest_end, self._noise
            ):
                self.changes.append(DistinctChange(proposals[i], in_doubt=False))
            self._n_changes_up_to.append(len(self.changes))
        suspicion = self._find_suspicion(values)
        if suspicion is not None:
            self.changes.append(DistinctChange(suspicion, in_doubt=True))
        return n_kept

    def _find_suspicion(self, values: Floats) -> int | None:
        """Return the position from which the newest runs may have left the newest level.

        None if nothing suggests this, or more runs cannot settle it.
        """
        start = max(self.changes[-1].position if self.changes else 0, len(values) - 2 * MAX_POINTS_PER_SIDE)
        recent_values = values[start:]
        if len(recent_values) < 2 * MIN_CHANGE_RUNS:
            return None
        shifts = _compute_shift_sizes(recent_values) / self._noise_factor
        best_shift = int(shifts.argmax())
        split = MIN_CHANGE_RUNS + best_shift
        n_after = len(recent_values) - split
        shortfall = find_needed_shift(min(split, n_after)) - float(shifts[best_shift])
        # Only the first MAX_POINTS_PER_SIDE runs after a change are compared: once they exist, more runs add nothing.
        can_be_settled = n_after < MAX_POINTS_PER_SIDE
        return start + split if shortfall <= MAX_LACK_IN_DOUBT and can_be_settled else None


def are_distinct(values: Floats, begin: int, position: int, ends: Sequence[int], noise_factor: float = 1.0) -> bool:
    """Return whether the levels before and after ``position`` are distinct: chance rarely orders values so.

    The level before it starts at ``begin``; the level after it may end at any of ``ends``. The exact position becomes
    known only later, so a shift near ``position`` counts as well, unless the shift at a position further away is so
    much larger that the change must be there. Levels of fewer than :data:`MIN_CHANGE_RUNS` values are not distinct.

    Parameters
    ----------
    noise_factor
        By how much larger the deviations of a mean are than those of independent values; see
        :func:`compute_shift_shortfall`.
    """
    start = max(begin, position - MAX_POINTS_PER_SIDE)
    for stop in dict.fromkeys(min(end, position + MAX_POINTS_PER_SIDE) for end in ends):
        nearby_values = values[start:stop]
        split = position - start
        if min(split, len(nearby_values) - split) < MIN_CHANGE_RUNS:
            continue
        # The largest shift near ``position``, unless a position further away explains much more. The first shift is
        # the one of a split after MIN_CHANGE_RUNS runs.
        shifts = _compute_shift_sizes(nearby_values) / noise_factor
        first_near = max(0, split - MAX_PROPOSAL_ERROR - MIN_CHANGE_RUNS)
        best_split = first_near + int(shifts[first_near : split + MAX_PROPOSAL_ERROR + 1 - MIN_CHANGE_RUNS].argmax())
        shift, largest_shift = float(shifts[best_split]), float(shifts.max())
        if largest_shift * largest_shift - shift * shift > MAX_SQUARED_SIGMA_ELSEWHERE:
            continue
        # The largest shift near ``position``, or the shift exactly at it, is large enough.
        if (
            _compute_shortfall(nearby_values, MIN_CHANGE_RUNS + best_split, shift) <= 0
            or _compute_shortfall(nearby_values, split, float(shifts[split - MIN_CHANGE_RUNS])) <= 0
        ):
            return True
    return False


def is_unprecedented(values: Floats, begin: int, position: int, end: int, noise: Noise) -> bool:
    """Return whether a large step leads to a level that no earlier run was near, so that few runs are enough.

    From the order of few runs, no step is ever certain, however large it is: eight runs before and eight after it have
    only 12,870 orders. But if the runs on each side agree, the step is many times larger than their scatter, and no
    earlier run was near the new level, there are two levels: a mode would have occurred before, and outliers would not
    agree.

    Parameters
    ----------
    begin, position, end
        Where the level before the step begins, where the step is, and where the level after it ends.
    """
    runs_before = values[max(begin, position - MAX_POINTS_PER_SIDE) : position]
    runs_after = values[position : min(end, position + MAX_POINTS_PER_SIDE)]
    if noise.points < MIN_POINTS_TO_KNOW_RHO or min(len(runs_before), len(runs_after)) < MIN_AGREEING_RUNS:
        return False
    level_before, level_after = float(np.median(runs_before)), float(np.median(runs_after))
    step = abs(level_after - level_before)
    if step < MIN_UNPRECEDENTED_SIGMA * noise.sigma:
        return False
    agreeing_shares = (
        np.mean(np.abs(side - level) <= MAX_AGREEING_SIGMA * noise.sigma)
        for side, level in ((runs_before, level_before), (runs_after, level_after))
    )
    distances = np.abs(values[max(0, position - UNPRECEDENTED_POINTS) : position] - level_after)
    return bool(min(agreeing_shares) >= MIN_AGREEING_SHARE and distances.min() > UNPRECEDENTED_SIGMA * noise.sigma)


def _compute_shift_sizes(values: Floats) -> Floats:
    """Return, for each possible split, by how many standard deviations the values before and after it differ."""
    shifts: Floats = np.abs(
        compute_shifts(compute_normal_scores(values), MIN_CHANGE_RUNS, len(values) - MIN_CHANGE_RUNS)
    )
    return shifts


def compute_shift_shortfall(values: Floats, split: int, noise_factor: float = 1.0) -> float:
    """Return by how many standard deviations the shift at ``split`` is too small to be certain; 0 if it is certain.

    Infinity if there are too few values on a side. If the noise is autocorrelated, ``noise_factor`` says by how much
    larger the deviations of the mean are than those of independent values.
    """
    if min(split, len(values) - split) < MIN_CHANGE_RUNS:
        return math.inf
    shifts = compute_shifts(compute_normal_scores(values), split, split)
    return _compute_shortfall(values, split, abs(float(shifts[0])) / noise_factor)


def _compute_shortfall(values: Floats, split: int, shift: float) -> float:
    """Return by how much a shift is too small to be certain; 0 if chance rarely gives this order of the values."""
    shortfall = find_needed_shift(min(split, len(values) - split)) - shift
    # Shifts are too cautious if one side is short, so a near miss gets a second test.
    if 0 < shortfall <= MAX_LACK_TO_TEST and is_rare(values[:split], values[split:]):
        return 0.0
    return max(0.0, shortfall)
