"""Estimates how many interleaved pairs would prove a change of a count, from the variation of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from runner.contract.level import Number, compute_median, find_largest_side, is_repeating
from runner.contract.number_text import format_duration, format_quantity

MAX_PAIRS = 400
"""The largest number of pairs, unless the workload sets another one. Counts that repeat need 20, and counts that vary
in every execution about 160. With this number, a shift of a noisy metric by half the standard deviation of a pair is
found in 99 of 100 comparisons."""
DIRECTION_ERROR = 0.0004
"""The probability that a comparison of one case and metric ever finds a direction although there is no change."""
MAX_SAMPLES = 60
"""How many samples are compared with each other."""
DEFAULT_RISE_PERCENT = 2.0
"""The rise in percent that is assumed if none is given."""


class PowerEstimate(NamedTuple):
    """How many pairs would prove a rise of a count. :class:`.nomination.Power` adds the case and the metric.

    Attributes
    ----------
    percent
        The rise in percent; None for a rise of one event, if the count repeats.
    pairs
        The most likely number of pairs that prove it; None if this exceeds ``MAX_PAIRS``.
    seconds
        The duration of these pairs; of ``MAX_PAIRS`` pairs if the number is None.
    """

    percent: float | None
    pairs: int | None
    seconds: float


def compute_power(
    samples: Sequence[Number], seconds: float, percent: float = DEFAULT_RISE_PERCENT
) -> PowerEstimate | None:
    """Return how many pairs would prove a rise of a count, if both sides vary as these samples do.

    Every sample, raised by ``percent``, is compared with every other sample. The shares of rises and falls among these
    comparisons are the expected shares among the pairs.

    Parameters
    ----------
    samples : sequence of n numbers
        Samples of one level, of which the last ``MAX_SAMPLES`` are used.
    seconds
        The duration of one execution.
    percent
        The rise, in percent of the level.

    Returns
    -------
    PowerEstimate or None
        None without samples, or at a level of zero.
    """
    recent_samples = samples[-MAX_SAMPLES:]
    level = compute_median(recent_samples)
    if not level:
        return None
    seconds_per_pair = 2 * seconds
    if is_repeating(recent_samples):
        pairs = _count_pairs(rise_share=1.0, fall_share=0.0)
        return PowerEstimate(percent=None, pairs=pairs, seconds=seconds_per_pair * (pairs or 0))
    rise = level * percent / 100
    differences = [sample + rise - other_sample for sample, other_sample in permutations(recent_samples, 2)]
    rise_share = sum(difference > 0 for difference in differences) / len(differences)
    fall_share = sum(difference < 0 for difference in differences) / len(differences)
    pairs = _count_pairs(rise_share, fall_share)
    # A comparison that proves nothing takes the largest number of pairs.
    return PowerEstimate(percent, pairs, seconds_per_pair * (pairs or MAX_PAIRS))


def _count_pairs(rise_share: float, fall_share: float) -> int | None:
    """Return the smallest number of pairs that prove a rise, given the shares that rise and fall; None if too many."""
    for pairs in range(1, MAX_PAIRS + 1):
        n_rises, n_falls = round(pairs * rise_share), round(pairs * fall_share)
        max_chance_rises = find_largest_side(n_rises + n_falls, DIRECTION_ERROR) if n_rises + n_falls else None
        if max_chance_rises is not None and n_rises > max_chance_rises:
            return pairs
    return None


def describe_power(power: PowerEstimate) -> str:
    """Return in one sentence how many pairs would prove the rise."""
    rise = "a rise of one in the count" if power.percent is None else f"a rise of {format_quantity(power.percent, '%')}"
    if power.pairs is None:
        return f"{rise.capitalize()} would not be proven within {MAX_PAIRS} interleaved pairs."
    duration = format_duration(power.seconds)
    return f"{rise.capitalize()} would be proven in about {power.pairs} interleaved pairs ({duration})."
