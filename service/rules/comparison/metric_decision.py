"""Decides on one metric from pairs of values of base and head, for the gate, `compare` and stored runs.

Two rules decide, and each verdict names its rule:

- *count*: a count has no tolerance. It has changed if head lies above base surely more often than below it, or the
  other way round, by whatever amount: one fault is enough. It is the same if the pairs favour neither side, so surely
  that a change in 40 % of the executions is excluded. If both sides repeat their counts, 20 equal pairs show that; if a
  count jitters, it takes more. See :mod:`service.rules.comparison.sign_test`. The rule is called *exact* where each
  repeats its count, and *counts* where one of them does not. The signs of large differences are judged by themselves,
  too: a head that takes one fault fewer in half of the pairs and a thousand more in the others is no better.
- *paired*: everything else is noise around a level. Sample i of base and sample i of head run next to each other, so
  what the host does to both cancels in their relative difference 2 (head − base) ∕ (|head| + |base|), which is defined
  at a zero baseline and only changes its sign when the sides are swapped. The bounds of its median, see
  :func:`runner.contract.level.compute_median_bounds`, are compared with zero and with the smallest change that matters.

Both hold for all numbers of pairs simultaneously, whatever the noise is like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runner.contract import Verdict
from runner.contract.comparison import Rule
from runner.contract.level import Number, compute_median, compute_median_bounds, count_agreeing, is_repeating
from service.rules.comparison.sign_test import (
    Signs,
    are_balanced,
    count_signs,
    decide_direction,
    is_surely_majority,
)
from service.rules.relative_change import compute_symmetric_percent_change, convert_to_percent_of_base
from service.text.numbers import format_number, format_percent

COUNTS = ("exact", "counts")
"""The rules that compare counts one by one: of those that repeat, and of those that vary."""
LARGE_DIFFERENCES = (16, 256, 4096)
"""Differences, in events, from which on the signs of pairs are judged by themselves. Without a change they are as fair
as all signs."""
LARGE_ERROR_SHARE = 0.2
"""The share of the error probability that these have, in equal parts."""
MIN_FURTHER_PAIRS = 4
"""Pairs to measure before a metric is judged again; a quarter of those measured where that is more."""
_MOST_LOOKED_AHEAD = 100

Pairs = Sequence[tuple[Number, Number]]


class MetricDecision(NamedTuple):
    """The decision on one metric, with the rule and the reason.

    Attributes
    ----------
    direction
        1 if head is certainly above base, -1 if it is certainly below, 0 if neither is certain.
    change
        Head minus base; None for the difference of the levels, so that it matches the levels shown beside it.
    times
        For an intermittent change: the number of pairs that show it. None for a change of the level.
    interval
        The bounds of the true change by the paired rule, in percent of the mean of both sides.
    more
        How many more pairs are likely to settle it.
    least
        The smallest difference of a pair that led to it.
    excluded
        The smallest change, in events, that the pairs of a count exclude, where they do not exclude all.
    """

    verdict: Verdict
    rule: Rule
    sentence: str
    direction: int = 0
    change: Number | None = None
    times: int | None = None
    interval: tuple[float, float] | None = None
    more: int = 0
    least: int = 0
    excluded: Number | None = None


def decide_count(
    pairs: Pairs, alpha: float, most: int | None = None, worth_proving: float | None = None
) -> MetricDecision:
    """Decide whether a count differs.

    Parameters
    ----------
    pairs
        At least one.
    alpha
        The probability that an unchanged count is ever judged to have changed.
    most
        Pairs after which no more will be measured; None if that is unknown. Counts that repeat and are equal are
        then called the same, and the sentence says what so few pairs can miss.
    worth_proving
        The smallest change that is looked for, in percent of base; None for the smallest one that pairs can show.
    """
    base, head = ([pair[side] for pair in pairs] for side in (0, 1))
    signs, n = count_signs(pairs), len(pairs)
    repeating = is_repeating(base) and is_repeating(head)
    rule: Rule = "exact" if repeating else "counts"
    agreement = f"in {count_agreeing(base)} of {n} and {count_agreeing(head)} of {n} samples"
    direction, least = _find_direction(pairs, alpha)
    if direction:
        return _decide_changed(pairs, direction, rule, alpha, least)
    equal = repeating and compute_median(base) == compute_median(head)
    if are_balanced(signs):
        if equal:
            return MetricDecision(Verdict.SAME, rule, f"The count is the same {agreement}.")
        sentence = f"The count varies, {_describe_signs(signs)}: neither side is favoured."
        return MetricDecision(Verdict.SAME, rule, sentence)
    excluded = None if equal or worth_proving is None else _exclude_change(pairs, worth_proving)
    if excluded is not None:
        sentence = f"The count varies, {_describe_signs(signs)}: a change by {format_number(excluded)} is excluded."
        return MetricDecision(Verdict.SAME, rule, sentence, excluded=excluded)
    if equal and n > 1 and most is not None and n >= most:
        missed = 100 * (1 - 0.001 ** (1 / n))
        sentence = (
            f"The count is the same {agreement}. The workload allows no more pairs, so a change that shows in fewer "
            f"than {missed:.0f} % of the executions may be missed."
        )
        return MetricDecision(Verdict.SAME, rule, sentence)
    if equal:
        sentence = (
            f"The count is the same {agreement}, but there are too few samples to rule out a change that shows only in "
            "some executions."
        )
    elif repeating:
        sentence = (
            f"The counts differ and mostly repeat (in {count_agreeing(base)} of {n} base samples and "
            f"{count_agreeing(head)} of {n} head samples), but there are too few samples to be sure."
        )
    else:
        sentence = f"The count varies, {_describe_signs(signs)}."
    return MetricDecision(Verdict.NEEDS_MORE_RUNS, rule, sentence, more=_estimate_pairs_to_settle(signs, alpha))


def _exclude_change(pairs: Pairs, worth_proving: float) -> float | None:
    """Return a change of so many percent in events, if the pairs certainly exclude it in both directions.

    A change of this size shows as differences of at least half of it. So smaller differences are taken for equal ones,
    and the pairs have to be balanced by the same test, with the same error probability, as where all differences count.
    A count that varies little against the change then has nearly equal pairs, of which 20 are enough. Signs of all
    differences take 140 pairs and more, because pairs of a varying count are never equal.
    """
    size = abs(compute_median([base for base, _ in pairs]) or 0) * worth_proving / 100
    return size if size and are_balanced(count_signs(keep_large_differences(pairs, size / 2))) else None


def _find_direction(pairs: Pairs, alpha: float) -> tuple[int, int]:
    """Return the direction that the pairs favour, and the smallest difference that counted for it.

    If small and large differences favour opposite directions, the large ones count: a thousand more faults in some
    executions outweigh one fault fewer in each of the others. So a metric is not better while large differences seem
    worse.
    """
    signs = {least: count_signs(keep_large_differences(pairs, least)) for least in (0, *LARGE_DIFFERENCES)}
    shares = {least: LARGE_ERROR_SHARE / len(LARGE_DIFFERENCES) if least else 1 - LARGE_ERROR_SHARE for least in signs}
    leans = {least: decide_direction(signs[least], share * alpha) for least, share in shares.items()}
    side, least = next(((side, least) for side in (1, -1) for least in leans if leans[least] == side), (0, 0))
    seems_worse = any(signs[other].above > signs[other].below for other in LARGE_DIFFERENCES)
    return (0, 0) if side < 0 and seems_worse else (side, least)


def keep_large_differences(pairs: Pairs, least: Number) -> Pairs:
    """Return the pairs with differences smaller than ``least`` made equal."""
    return [(base, head if abs(head - base) >= least else base) for base, head in pairs]


def _decide_changed(pairs: Pairs, direction: int, rule: Rule, alpha: float, least: int) -> MetricDecision:
    """Return the decision that a count changed: in most pairs, or intermittently in fewer of them."""
    base, head = ([pair[side] for pair in pairs] for side in (0, 1))
    signs, counted = count_signs(pairs), count_signs(keep_large_differences(pairs, least))
    n, times = len(pairs), counted.above if direction > 0 else counted.below
    if is_surely_majority(times, n, alpha):
        if rule == "exact":
            sentence = (
                f"Each side repeats its count, in {count_agreeing(base)} of {n} and {count_agreeing(head)} of {n} "
                "samples: the difference is certain."
            )
            return MetricDecision(Verdict.CHANGED, rule, sentence, direction)
        sentence = f"The count varies, and its level moved: {_describe_signs(signs)}."
        moved = (compute_median(head) or 0) - (compute_median(base) or 0)
        if moved * direction > 0:
            return MetricDecision(Verdict.CHANGED, rule, sentence, direction)
        # The levels of counts with several modes may hide a change that the pairs show.
        size = compute_median([right - left for left, right in pairs]) or 0
        sentence = f"{sentence.rstrip('.')}; the median difference of the pairs is {abs(size):,}."
        return MetricDecision(Verdict.CHANGED, rule, sentence, direction, size)
    size = compute_median([right - left for left, right in pairs if (right - left) * direction >= max(1, least)]) or 0
    large_clause = f" ({times} of these by at least {least})" if least else ""
    change = f"{'large ' if least else ''}{'increase' if direction > 0 else 'decrease'}"
    sentence = f"Intermittent: {_describe_signs(signs, large_clause, direction)}; the median {change} is {abs(size):,}."
    return MetricDecision(Verdict.CHANGED, "counts", sentence, direction, size, times, least=least)


def decide_noisy(pairs: Pairs, precision: float, alpha: float) -> MetricDecision:
    """Decide whether a noisy metric differs by more than ``precision`` percent."""
    differences = [compute_symmetric_percent_change(base, head) for base, head in pairs]
    interval = compute_median_bounds(differences, alpha)
    middle = compute_median(differences) or 0
    more = max(MIN_FURTHER_PAIRS, len(pairs) // 4)
    if interval is None:
        pair_count = "1 pair is" if len(pairs) == 1 else f"{len(pairs)} pairs are"
        sentence = f"{pair_count} too few for an error probability of {format_number(alpha)}."
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "paired", sentence, more=more)
    low, high = interval
    bounds_sentence = f"The change lies {describe_bounds(interval)} according to {len(pairs)} pairs"
    if (low > 0 or high < 0) and 2 * abs(middle) >= precision:
        sentence = f"{bounds_sentence}: not zero, with an error probability of {format_number(alpha)}."
        return MetricDecision(Verdict.CHANGED, "paired", sentence, 1 if low > 0 else -1, interval=interval)
    if -precision < low and high < precision:
        sentence = f"{bounds_sentence}: a change of less than {format_number(precision)} % does not matter."
        return MetricDecision(Verdict.SAME, "paired", sentence, interval=interval)
    sentence = f"{bounds_sentence}, and a change of {format_number(precision)} % matters."
    return MetricDecision(Verdict.NEEDS_MORE_RUNS, "paired", sentence, interval=interval, more=more)


def describe_bounds(interval: tuple[float, float]) -> str:
    """Return the bounds of a change in words: in percent of base, where the bounds are of the mean of both sides."""
    low, high = (convert_to_percent_of_base(bound) for bound in interval)
    if low is None:
        return "above any percentage of base, which is close to zero"
    if high is None:
        return f"above {format_percent(low)}"
    return f"between {format_percent(low)} and {format_percent(high)}"


def _describe_signs(signs: Signs, large_clause: str = "", direction: int = 0) -> str:
    """Describe how many pairs have which sign. The clause follows the number of pairs of its direction."""
    above_clause, below_clause = (large_clause if direction == sign else "" for sign in (1, -1))
    return f"head counts more in {signs.above} of {signs.n} pairs{above_clause} and less in {signs.below}{below_clause}"


def _estimate_pairs_to_settle(signs: Signs, alpha: float) -> int:
    """Estimate how many more pairs like the present ones would settle a count; few at a time if the pairs vary."""
    if signs.n in {signs.above, signs.equal, signs.below}:
        for more in range(1, _MOST_LOOKED_AHEAD):
            grown = Signs(*(count + more if count else 0 for count in signs))
            if decide_direction(grown, (1 - LARGE_ERROR_SHARE) * alpha) or are_balanced(grown):
                return more
    return max(MIN_FURTHER_PAIRS, signs.n // 4)
