"""Estimates how many interleaved pairs would prove a change of a count, from the variation of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from runner.contract.level import Number, compute_median, find_largest_side, is_repeating

MAX_PAIRS = 400
"""Most pairs, unless the workload sets another number. Counts that repeat take 20, and those that vary in every
execution some 160. Noisy metrics find a shift of half a standard deviation of a pair in 99 of 100 comparisons."""
DIRECTION_ERROR = 0.0004
"""Probability that a comparison of one case and metric without a change ever finds a direction."""
MAX_SAMPLES = 60
"""Most samples that are paired with each other."""
STATED_PERCENT = 2.0
"""The rise that a statement is about."""


class PowerEstimate(NamedTuple):
    """How many pairs would prove a rise of a count, without the case that :class:`.nomination.Power` adds.

    Attributes
    ----------
    percent
        The rise; None for a rise by one event, if the count repeats.
    pairs
        The pairs that most likely prove it; None if as many as a comparison takes are too few.
    seconds
        How long they take.
    """

    percent: float | None
    pairs: int | None
    seconds: float


def compute_power(samples: Sequence[Number], seconds: float, percent: float = STATED_PERCENT) -> PowerEstimate | None:
    """Return how many pairs prove a rise of a count, if both sides vary as these samples do.

    Every sample is paired with every other one raised by so much; the shares of the signs are what pairs will show.

    Parameters
    ----------
    samples : sequence of n numbers
        Samples of one level; the last ``MAX_SAMPLES`` are read.
    seconds
        How long one execution takes.
    percent
        The rise.

    Returns
    -------
    PowerEstimate or None
        None without samples, or at a level of zero.
    """
    recent = samples[-MAX_SAMPLES:]
    level = compute_median(recent)
    if not level:
        return None
    if is_repeating(recent):
        pairs = _count_pairs(1.0, 0.0)
        return PowerEstimate(None, pairs, 2 * seconds * (pairs or 0))
    rise = level * percent / 100
    differences = [raised + rise - other for raised, other in permutations(recent, 2)]
    above = sum(difference > 0 for difference in differences) / len(differences)
    below = sum(difference < 0 for difference in differences) / len(differences)
    pairs = _count_pairs(above, below)
    return PowerEstimate(percent, pairs, 2 * seconds * (pairs or MAX_PAIRS))


def _count_pairs(above: float, below: float) -> int | None:
    """Return the first number of pairs at which such shares of signs are a verdict."""
    for pairs in range(1, MAX_PAIRS + 1):
        larger, smaller = round(pairs * above), round(pairs * below)
        most = find_largest_side(larger + smaller, DIRECTION_ERROR) if larger + smaller else None
        if most is not None and larger > most:
            return pairs
    return None


def describe_power(power: PowerEstimate) -> str:
    """Say in one sentence what can be found."""
    rise = "one more event" if power.percent is None else f"a rise of {power.percent:g} %"
    if power.pairs is None:
        return f"{rise.capitalize()} would not be proven within {MAX_PAIRS} interleaved pairs."
    minutes, rest = divmod(round(power.seconds), 60)
    time = f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{rise.capitalize()} would be proven in about {power.pairs} interleaved pairs, {time}."
