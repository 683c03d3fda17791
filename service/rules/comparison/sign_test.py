"""Tests pairs only by their signs: the numbers of pairs in which head lies above and below base.

The sizes of the differences do not matter, so the tests hold for counts that repeat exactly, jump between modes, jitter
or have heavy tails. The error probabilities of both tests hold however often the caller looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, inf, log
from typing import NamedTuple

from runner.contract.level import Number, find_largest_side

MIN_CHANGED_SHARE = 0.4
"""A change in this share of all executions or more must not be called the same."""
MISS_PROBABILITY = 1e-4
"""Probability that such a change is called the same."""
_STAKES = ((10 / 3, 0.5), (2.0, 0.125), (1.4, 0.125), (0.95, 0.25))
"""Each stake on head not being above base, and the share of the initial capital that is bet with this stake.

The first is the largest stake with which a loss cannot make the capital negative; with it, 20 equal pairs are enough.
The others are better for counts whose pairs rarely tie.
"""


_MAX_EXPONENT = 700.0
"""Limit of exponents, because the exponential function overflows above 709."""


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
    """Return 1 if head lies above base significantly more often than below it, -1 for the opposite, otherwise 0.

    This is the sign test. If neither side is favoured, head is as likely to be above as below in a pair that differs;
    the probability that this function ever returns anything but 0 is then at most ``alpha``.
    """
    n_differing = signs.above + signs.below
    max_by_chance = find_largest_side(n_differing, alpha) if n_differing else None
    if max_by_chance is None or max(signs.above, signs.below) <= max_by_chance:
        return 0
    return 1 if signs.above > signs.below else -1


def is_significant_majority(count: int, n_pairs: int, alpha: float) -> bool:
    """Return whether ``count`` of ``n_pairs`` pairs are significantly more than half."""
    max_by_chance = find_largest_side(n_pairs, alpha) if n_pairs else None
    return max_by_chance is not None and count > max_by_chance


def are_balanced(signs: Signs) -> bool:
    """Return whether the pairs exclude a change in ``MIN_CHANGED_SHARE`` of the executions, in both directions.

    Each pair scores 1, ½ or 0 if head lies above base, equals it, or lies below. If head is above base in
    ``MIN_CHANGED_SHARE`` of the executions and never below, the mean score is (1 + MIN_CHANGED_SHARE) ∕ 2. This
    hypothesis and its mirror image are each tested by betting against it (I. Waudby-Smith and A. Ramdas, "Estimating
    means of bounded random variables by betting", Journal of the Royal Statistical Society B 86(1), 2024).
    """
    return all(_compute_bet_capital(side) >= 1 / MISS_PROBABILITY for side in (signs, signs.mirrored))


def _compute_bet_capital(signs: Signs) -> float:
    """Return a lower bound of the capital after betting that the mean score is below (1 + MIN_CHANGED_SHARE) ∕ 2.

    The initial capital is 1. Each share of it is bet with its own stake. The largest resulting share is returned, which
    is at most the sum of all.
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
    """Return the logarithm of the factor by which a pair multiplies the capital of a bet.

    Minus infinity if the factor is zero, apart from rounding errors: the capital is lost. See
    :func:`_compute_bet_capital`.
    """
    return log(factor) if factor > 1e-12 else -inf
