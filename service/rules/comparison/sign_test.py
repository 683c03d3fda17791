"""Tests pairs by their signs alone: the numbers of pairs in which head lies above and below base.

The sizes of the differences do not matter, so the tests hold for counts that repeat exactly, jump between modes, jitter
or have heavy tails. Both tests hold no matter how often the caller looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, inf, log
from typing import NamedTuple

from runner.contract.level import Number, find_largest_side

MIN_CHANGED_SHARE = 0.4
"""A change in this share of all executions, or in more of them, is never called the same."""
MISS_PROBABILITY = 1e-4
"""Probability that such a change is called the same."""
_STAKES = ((10 / 3, 0.5), (2.0, 0.125), (1.4, 0.125), (0.95, 0.25))
"""What is bet on head not being above base, and the share of the capital that is bet so.

The first is the largest bet that a loss cannot turn into debt; with it, 20 equal pairs are enough. The others are good
for counts whose pairs rarely tie.
"""


_MAX_EXPONENT = 700.0
"""The exponential function overflows above 709."""


class Signs(NamedTuple):
    """The number of pairs in which head lies above base, equals it, and lies below it."""

    above: int
    equal: int
    below: int

    @property
    def n(self) -> int:
        """The number of pairs."""
        return sum(self)

    @property
    def mirrored(self) -> Signs:
        """The signs with the sides swapped."""
        return Signs(self.below, self.equal, self.above)


def count_signs(pairs: Iterable[tuple[Number, Number]]) -> Signs:
    """Count the signs of head minus base."""
    n_above = n_equal = n_below = 0
    for base, head in pairs:
        n_above += head > base
        n_equal += head == base
        n_below += head < base
    return Signs(n_above, n_equal, n_below)


def decide_direction(signs: Signs, alpha: float) -> int:
    """Return 1 if head certainly lies above base more often than below it, -1 if more often below, otherwise 0.

    This is the sign test. If neither side is favoured, a pair that differs is as likely to be above as below; the
    probability that this function ever returns anything but 0 is then at most ``alpha``.
    """
    n_differing = signs.above + signs.below
    max_by_chance = find_largest_side(n_differing, alpha) if n_differing else None
    if max_by_chance is None or max(signs.above, signs.below) <= max_by_chance:
        return 0
    return 1 if signs.above > signs.below else -1


def is_surely_majority(count: int, n_pairs: int, alpha: float) -> bool:
    """Return whether certainly more than half of all pairs are like ``count`` of these ``n_pairs`` pairs."""
    max_by_chance = find_largest_side(n_pairs, alpha) if n_pairs else None
    return max_by_chance is not None and count > max_by_chance


def are_balanced(signs: Signs) -> bool:
    """Return whether the pairs certainly favour neither side: a change in that share of the executions is excluded.

    Each pair scores 1, ½ or 0 as head lies above base, equals it, or lies below. If head is worse in
    ``MIN_CHANGED_SHARE`` of the executions and never better, the mean score is (1 + MIN_CHANGED_SHARE) ∕ 2. That
    hypothesis is tested by betting against it, and so is its mirror image (I. Waudby-Smith and A. Ramdas, "Estimating
    means of bounded random variables by betting",
    Journal of the Royal Statistical Society B 86(1), 2024).
    """
    return all(_compute_bet_capital(side) >= 1 / MISS_PROBABILITY for side in (signs, signs.mirrored))


def _compute_bet_capital(signs: Signs) -> float:
    """Return what a capital of 1 has become by betting that the mean score is below (1 + MIN_CHANGED_SHARE) ∕ 2.

    Each share of the capital is bet with its own stake. Of all shares, only the largest is returned, which is no more
    than their sum.
    """
    mean = (1 + MIN_CHANGED_SHARE) / 2
    log_capitals = [
        log(share)
        + sum(
            count * _compute_log_factor(1 - stake * (score - mean))
            for count, score in ((signs.above, 1.0), (signs.equal, 0.5), (signs.below, 0.0))
            if count
        )
        for stake, share in _STAKES
    ]
    return exp(min(_MAX_EXPONENT, max(log_capitals))) if max(log_capitals) > -inf else 0.0


def _compute_log_factor(factor: float) -> float:
    """Return the logarithm of a factor of the bet; minus infinity if it is zero, except for rounding errors."""
    return log(factor) if factor > 1e-12 else -inf
