"""Drops the proposed changes across which the levels are not distinct; the stretches beside them become one level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from service.rules.detect import exchangeability
from service.rules.detect.exchangeability import DOUBT, WINDOW, is_rare, needed_shift
from service.rules.detect.median_of_nine import Floats

AHEAD = 2
"""How many of the next proposals may be spurious, so that the level after a change extends beyond them."""
REACH = 6
"""Points by which a proposal may be off."""
MOST_INFLATION = 20.0
"""Bound of the inflation by autocorrelation: a change of level looks like autocorrelation, too."""
SHORTEST = 3
"""Measurements without which no change is certain."""
NEARLY = 1.5
"""If a shift lacks more than this, its values are not worth a further test."""


class Distinct(NamedTuple):
    """A change between distinct levels; ``in_doubt`` if more runs must settle it."""

    at: int
    in_doubt: bool


class DistinctLevels:
    """The distinct levels of a growing series with proposed changes, judged from left to right."""

    def __init__(self, inflation: float) -> None:
        self._widened = math.sqrt(min(inflation, MOST_INFLATION))
        self.changes: list[Distinct] = []
        self._counts: list[int] = []  # how many of the changes lie at or before each proposal

    def update(self, values: Floats, proposals: Sequence[int], same: int) -> int:
        """Judge the proposals from index ``same`` on; return how many of the first changes are as before."""
        del self._counts[same:]
        kept = self._counts[-1] if self._counts else 0
        del self.changes[kept:]
        for i in range(same, len(proposals)):
            begin = self.changes[-1].at if self.changes else 0
            at = proposals[i]
            ends = [*proposals[i + 1 : i + 1 + AHEAD], len(values)]
            judged = judge(values, begin, at, ends, self._widened)
            if judged is not None:
                self.changes.append(judged)
            self._counts.append(len(self.changes))
        return kept


def judge(values: Floats, begin: int, at: int, ends: Sequence[int], widened: float = 1.0) -> Distinct | None:
    """Return the change between distinct levels near ``at``; None if there is none.

    ``begin`` is the start of the level before it; the level after it may end at any of ``ends``.
    """
    first = max(begin, at - WINDOW)
    in_doubt = None
    for last in dict.fromkeys(min(end, at + WINDOW) for end in ends):
        split, lacking = best_split(values[first:last], widened)
        if abs(first + split - at) > REACH:
            continue
        if lacking > 0 and lacking_shift(values[first:last], at - first, widened) <= 0:
            return Distinct(at, in_doubt=False)
        if lacking <= 0:
            return Distinct(first + split, in_doubt=False)
        if lacking <= DOUBT and last == len(values) < at + WINDOW:
            in_doubt = Distinct(first + split, in_doubt=True)
    return in_doubt


def best_split(values: Floats, widened: float = 1.0) -> tuple[int, float]:
    """Return where values differ most before and after, and by how many standard deviations that is too little.

    The latter is 0 if the change is certain.
    """
    n = len(values)
    if n < 2 * SHORTEST:
        return 0, math.inf
    shifts = np.abs(exchangeability.shifts(exchangeability.normal_scores(values), SHORTEST, n - SHORTEST))
    split = SHORTEST + int(shifts.argmax())
    return split, _lacking(values, split, float(shifts[split - SHORTEST]) / widened)


def lacking_shift(values: Floats, split: int, widened: float = 1.0) -> float:
    """Return by how many standard deviations the shift at ``split`` is too small to be certain; 0 if it is certain."""
    if min(split, len(values) - split) < SHORTEST:
        return math.inf
    shifts = exchangeability.shifts(exchangeability.normal_scores(values), split, split)
    return _lacking(values, split, abs(float(shifts[0])) / widened)


def _lacking(values: Floats, split: int, shift: float) -> float:
    lacking = needed_shift(min(split, len(values) - split)) - shift
    if 0 < lacking <= NEARLY and is_rare(values[:split], values[split:]):
        return 0.0
    return max(0.0, lacking)
