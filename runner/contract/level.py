"""The level of samples, and the bounds of their true median. Runner and service share these rules."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import comb

Number = int | float
"""An exact count stays an integer, however large."""
MIN_REPEATING_SHARE = 0.9
"""The share of the samples that must agree for a count to be called repeating."""


def compute_median(values: Sequence[Number]) -> Number | None:
    """Return the median, as an integer if possible; None if there are no values.

    If more than half of the values agree, the median is that value, so an outlier does not move it.
    """
    if not values:
        return None
    sorted_values = sorted(values)
    # The two values in the middle; the same one twice if their number is odd.
    low, high = sorted_values[(len(sorted_values) - 1) // 2], sorted_values[len(sorted_values) // 2]
    if low == high:
        return low
    return halve_number(low + high)


def halve_number(number: Number) -> Number:
    """Return half of a number; for an even integer, an exact integer, however large."""
    return number // 2 if isinstance(number, int) and number % 2 == 0 else number / 2


def find_majority(values: Sequence[Number]) -> tuple[Number, int] | None:
    """Return the value that more than half of the values have, and how many have it; None if there is none."""
    if not values:
        return None
    value, occurrences = values[0], values.count(values[0])  # Nearly always the majority, and much faster to check.
    if 2 * occurrences <= len(values):
        value, occurrences = Counter(values).most_common(1)[0]
    return (value, occurrences) if 2 * occurrences > len(values) else None


def count_agreeing(values: Sequence[Number]) -> int:
    """Return how many values agree with the majority; 0 if there is no majority."""
    majority = find_majority(values)
    return majority[1] if majority else 0


def is_repeating(values: Sequence[Number]) -> bool:
    """Return whether at least nine in ten samples of a count agree."""
    return bool(values) and count_agreeing(values) >= MIN_REPEATING_SHARE * len(values)


def compute_median_bounds(values: Sequence[Number], alpha: float) -> tuple[Number, Number] | None:
    """Return a distribution-free confidence interval for the true median; None if there are too few values.

    The intervals for all numbers of samples form a confidence sequence: with a probability of at least 1 − ``alpha``,
    the true median is never outside any of them. One may therefore check after each sample, and stop at any time.

    Parameters
    ----------
    alpha
        The largest probability that the interval ever misses the true median.

    Notes
    -----
    Each candidate for the median is tested with a sequential sign test. The test bets that more than half of the
    samples lie above (or below) the candidate; the bet is a uniform mixture over all shares above one half. If the
    candidate is the true median, the gain is a supermartingale, so the probability that it ever exceeds 1/p is at most
    p (J. Ville, "Étude critique de la notion de collectif", 1939; for quantiles S. R. Howard and A. Ramdas,
    "Sequential estimation of quantiles with applications to A/B testing and best-arm identification", Bernoulli 28(3),
    2022). With k of n samples on one side, the gain is Σ_{j≤k} C(n+1, j) ∕ ((n+1) C(n, k)).
    """
    largest_side = find_largest_side(len(values), alpha) if values else None
    if largest_side is None:
        return None
    sorted_values = sorted(values)
    return sorted_values[len(values) - 1 - largest_side], sorted_values[largest_side]


@lru_cache(maxsize=4096)
def find_largest_side(n: int, alpha: float) -> int | None:
    """Return how many of n samples, at most, can lie on one side of the true median; None if all of them can.

    The bounds for all n are valid simultaneously with a probability of at least 1 − ``alpha``, by Ville's inequality:
    see :func:`compute_median_bounds`. Each side is tested at ``alpha`` / 2.
    """
    cumulative = 1 << (n + 1)
    binomial = 1
    max_gain = 2 / alpha  # 1 / p for each side's share of alpha, by which a test may exceed its stake
    for k in range(n, n // 2, -1):
        # `cumulative` becomes Σ_{j≤k} C(n+1, j), and `binomial` is C(n, k). Both are integers, which never overflow.
        cumulative -= comb(n + 1, k + 1)
        # The gain of the test with k samples on one side is cumulative / ((n + 1) · binomial).
        if cumulative < max_gain * (n + 1) * binomial:
            return None if k == n else k
        binomial = binomial * k // (n - k + 1)
    return n // 2
