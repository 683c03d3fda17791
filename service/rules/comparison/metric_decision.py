"""Decides on one metric from pairs of values of base and head, for the gate, `compare` and stored runs.

Two rules decide, and each verdict names its rule:

- *count*: a count has no tolerance. It has changed if head lies above base significantly more often than below it, or
  the other way round, by whatever amount: one fault is enough. It is the same if the pairs favour neither side and
  exclude a change in 40 % of the executions. If both sides repeat their counts, 20 equal pairs show this; a count that
  jitters takes more. See :mod:`service.rules.comparison.sign_test`. The rule is called *exact* if both sides repeat
  their counts, and *counts* if one of them does not. The signs of large differences are also judged separately: see
  :mod:`service.rules.comparison.large_differences`.
- *paired*: everything else is noise around a level. Sample i of base and sample i of head run next to each other, so
  the influence of the host cancels in their relative difference 2 (head − base) ∕ (|head| + |base|). It is defined even
  if base is zero, and only changes its sign when the sides are swapped. The bounds of its median, see
  :func:`runner.contract.level.compute_median_bounds`, are compared with zero and with the smallest change that matters.

The error probabilities of both rules hold for all numbers of pairs simultaneously, whatever the noise is like.
"""

from __future__ import annotations

from typing import NamedTuple

from runner.contract import Verdict
from runner.contract.comparison import Rule
from runner.contract.level import Number, compute_median, compute_median_bounds, count_agreeing, is_repeating
from runner.contract.number_text import (
    capitalize_first_letter,
    format_number,
    format_percent,
    format_quantity,
    format_share,
)
from service.rules.comparison.large_differences import LARGE_ERROR_SHARE, Pairs, find_direction, keep_large_differences
from service.rules.comparison.sign_test import (
    Signs,
    are_balanced,
    count_signs,
    decide_direction,
    is_significant_majority,
)
from service.rules.relative_change import compute_symmetric_percent_change, convert_to_percent_of_base

COUNTS = ("exact", "counts")
"""The rules for counts: one for counts that repeat, one for counts that vary."""
MIN_FURTHER_PAIRS = 4
"""Pairs to measure before a metric is judged again, or a quarter of the measured pairs if that is more."""
_MAX_EXTRAPOLATED_PAIRS = 100
"""The largest number of further equal pairs for which it is computed whether they would settle a count."""


class SideNames(NamedTuple):
    """What the sentence of a decision calls the two sides and their samples."""

    base: str = "base"
    head: str = "head"
    base_samples: str = "base samples"
    head_samples: str = "head samples"


_BASE_AND_HEAD = SideNames()


class MetricDecision(NamedTuple):
    """The decision on one metric, with the rule and the reason.

    Attributes
    ----------
    direction
        1 if head is significantly above base, -1 if it is significantly below, 0 if neither.
    change
        Head minus base; None stands for the difference of the levels, so that it matches the levels shown beside it.
    changed_pairs
        For an intermittent change, the number of pairs that show it; None for a change of the level.
    interval
        The bounds of the true change by the paired rule, in percent of the mean of both sides.
    remaining_pairs
        How many more pairs are likely to settle the metric.
    min_difference
        The smallest difference between the values of a pair that counted as a difference.
    excluded_change
        The smallest change of a count, in events, that the pairs exclude, if they do not exclude every change.
    """

    verdict: Verdict
    rule: Rule
    sentence: str
    direction: int = 0
    change: Number | None = None
    changed_pairs: int | None = None
    interval: tuple[float, float] | None = None
    remaining_pairs: int = 0
    min_difference: int = 0
    excluded_change: Number | None = None


def decide_count(
    pairs: Pairs,
    alpha: float,
    max_pairs: int | None = None,
    worth_proving: float | None = None,
    names: SideNames = _BASE_AND_HEAD,
) -> MetricDecision:
    """Decide whether a count differs.

    Parameters
    ----------
    pairs
        The values of base and head in at least one pair.
    alpha
        Bound of the probability that an unchanged count is ever judged to have changed.
    max_pairs
        The number of pairs that will be measured at most; None if it is unknown. Once it is reached, counts that
        repeat and are equal are called the same, and the sentence says what so few pairs can miss.
    worth_proving
        The smallest change that matters, in percent of base; None for the smallest one that pairs can show.
    names
        What the sentence calls the two sides.
    """
    base = [base_value for base_value, _ in pairs]
    head = [head_value for _, head_value in pairs]
    signs, n = count_signs(pairs), len(pairs)
    is_repeating_count = is_repeating(base) and is_repeating(head)
    rule: Rule = "exact" if is_repeating_count else "counts"
    agreement_clause = (
        f"in {count_agreeing(base)} of {n} {names.base_samples} and {count_agreeing(head)} of {n} {names.head_samples}"
    )
    direction, min_difference = find_direction(pairs, alpha)
    if direction:
        return _decide_changed_count(pairs, direction, rule, alpha, min_difference, names=names)
    has_equal_levels = is_repeating_count and compute_median(base) == compute_median(head)
    if are_balanced(signs):
        if has_equal_levels:
            return MetricDecision(Verdict.SAME, rule, f"The count is the same {agreement_clause}.")
        sentence = f"The count varies; {_describe_signs(signs, names)}, so neither side is favoured."
        return MetricDecision(Verdict.SAME, rule, sentence)
    excluded_change = None if has_equal_levels or worth_proving is None else _exclude_change(pairs, worth_proving)
    if excluded_change is not None:
        sentence = (
            f"The count varies; {_describe_signs(signs, names)}. A change of {format_number(excluded_change)} or more "
            "is ruled out."
        )
        return MetricDecision(Verdict.SAME, rule, sentence, excluded_change=excluded_change)
    # A single pair does not show whether the counts repeat.
    if has_equal_levels and n > 1 and max_pairs is not None and n >= max_pairs:
        # With a probability of 0.001, a change in this share of the executions shows in none of n pairs.
        missed_share = 1 - 0.001 ** (1 / n)
        sentence = (
            f"The count is the same {agreement_clause}. No more pairs will be measured, so a change that shows in "
            f"fewer than {format_share(missed_share)} of the executions may be missed."
        )
        return MetricDecision(Verdict.SAME, rule, sentence)
    if has_equal_levels:
        sentence = (
            f"The count is the same {agreement_clause}, but there are too few samples to rule out a change that shows "
            "only in some executions."
        )
    elif is_repeating_count:
        sentence = (
            f"{capitalize_first_letter(names.base)} and {names.head} have different counts, which mostly repeat "
            f"({agreement_clause}), but there are too few samples to be sure."
        )
    else:
        sentence = f"The count varies; {_describe_signs(signs, names)}."
    return MetricDecision(
        Verdict.NEEDS_MORE_RUNS, rule, sentence, remaining_pairs=_estimate_pairs_to_settle(signs, alpha)
    )


def _exclude_change(pairs: Pairs, worth_proving: float) -> float | None:
    """Return a change of ``worth_proving`` percent of base, in events, if the pairs exclude it in both directions.

    None if they do not, or if base is zero.

    Pairs that differ by less than half of this change count as equal. The remaining signs have to be balanced by the
    same test, with the same error probability, as for all differences. If a count varies little compared with the
    change, nearly all of its pairs then count as equal, and 20 are enough. With the signs of all differences, 140 pairs
    and more would be needed, because the pairs of a varying count are hardly ever equal.
    """
    change = abs(compute_median([base for base, _ in pairs]) or 0) * worth_proving / 100
    return change if change and are_balanced(count_signs(keep_large_differences(pairs, change / 2))) else None


def _decide_changed_count(
    pairs: Pairs, direction: int, rule: Rule, alpha: float, min_difference: int, *, names: SideNames
) -> MetricDecision:
    """Return the decision that a count changed: in most pairs, or intermittently in fewer of them.

    Parameters
    ----------
    direction
        1 for an increase, -1 for a decrease.
    rule
        The rule that has found the change.
    min_difference
        Only pairs that differ by at least this much show the change; 0 if all that differ do.
    """
    base = [base_value for base_value, _ in pairs]
    head = [head_value for _, head_value in pairs]
    signs = count_signs(pairs)
    counted_signs = count_signs(keep_large_differences(pairs, min_difference))
    n = len(pairs)
    n_changed_pairs = counted_signs.above if direction > 0 else counted_signs.below
    if is_significant_majority(n_changed_pairs, n, alpha):
        if rule == "exact":
            sentence = (
                f"The count repeats on each side, in {count_agreeing(base)} of {n} {names.base_samples} and "
                f"{count_agreeing(head)} of {n} {names.head_samples}: the difference is certain."
            )
            return MetricDecision(Verdict.CHANGED, rule, sentence, direction)
        sentence = f"The count varies, and its level moved: {_describe_signs(signs, names)}."
        level_change = (compute_median(head) or 0) - (compute_median(base) or 0)
        if level_change * direction > 0:
            return MetricDecision(Verdict.CHANGED, rule, sentence, direction)
        # If counts have several modes, the levels may hide a change that the pairs show.
        median_difference = compute_median([head_value - base_value for base_value, head_value in pairs]) or 0
        sentence = f"{sentence.rstrip('.')}; the median difference of the pairs is {abs(median_difference):,}."
        return MetricDecision(Verdict.CHANGED, rule, sentence, direction, change=median_difference)
    # An intermittent change is computed only from the pairs that show it.
    all_differences = [head_value - base_value for base_value, head_value in pairs]
    changes = [difference for difference in all_differences if difference * direction >= max(1, min_difference)]
    median_difference = compute_median(changes) or 0
    large_clause = f" ({n_changed_pairs} of these by at least {min_difference:,})" if min_difference else ""
    change_words = f"{'large ' if min_difference else ''}{'increase' if direction > 0 else 'decrease'}"
    sentence = (
        f"Intermittent: {_describe_signs(signs, names, large_clause, direction)}; "
        f"the median {change_words} is {abs(median_difference):,}."
    )
    return MetricDecision(
        Verdict.CHANGED,
        "counts",
        sentence,
        direction,
        change=median_difference,
        changed_pairs=n_changed_pairs,
        min_difference=min_difference,
    )


def decide_noisy_metric(
    pairs: Pairs, precision: float, alpha: float, names: SideNames = _BASE_AND_HEAD
) -> MetricDecision:
    """Decide whether a noisy metric differs by more than ``precision`` percent."""
    # Changes are in percent of the mean of both sides.
    differences = [compute_symmetric_percent_change(base, head) for base, head in pairs]
    interval = compute_median_bounds(differences, alpha)
    median_change = compute_median(differences) or 0
    remaining_pairs = count_further_pairs(len(pairs))
    if interval is None:
        pair_count = "1 pair is" if len(pairs) == 1 else f"{len(pairs)} pairs are"
        sentence = f"{pair_count} too few for an error probability of {format_number(alpha)}."
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "paired", sentence, remaining_pairs=remaining_pairs)
    low, high = interval
    bounds_sentence = f"The change lies {describe_bounds(interval, names)} according to {len(pairs)} pairs"
    # A change that is certain, but smaller than half of the precision, does not matter.
    if (low > 0 or high < 0) and 2 * abs(median_change) >= precision:
        sentence = f"{bounds_sentence}: it is not zero, with an error probability of {format_number(alpha)}."
        return MetricDecision(Verdict.CHANGED, "paired", sentence, direction=1 if low > 0 else -1, interval=interval)
    if -precision < low and high < precision:
        sentence = f"{bounds_sentence}: a change of less than {format_quantity(precision, '%')} does not matter."
        return MetricDecision(Verdict.SAME, "paired", sentence, interval=interval)
    sentence = (
        f"{bounds_sentence}: more pairs are needed, because a change of {format_quantity(precision, '%')} matters."
    )
    return MetricDecision(
        Verdict.NEEDS_MORE_RUNS, "paired", sentence, interval=interval, remaining_pairs=remaining_pairs
    )


def describe_bounds(interval: tuple[float, float], names: SideNames = _BASE_AND_HEAD) -> str:
    """Return the bounds of a change in words, converted from percent of the mean of both sides to percent of base."""
    low, high = (convert_to_percent_of_base(bound) for bound in interval)
    if low is None:
        return f"beyond what a percentage of {names.base} can express ({names.base} is close to zero)"
    if high is None:
        return f"above {format_percent(low)}"
    return f"between {format_percent(low)} and {format_percent(high)}"


def _describe_signs(signs: Signs, names: SideNames, large_clause: str = "", direction: int = 0) -> str:
    """Return in words in how many pairs head counts more or less.

    ``large_clause`` is inserted after the number of pairs with the sign ``direction``, 1 or -1.
    """
    above_clause, below_clause = (large_clause if direction == sign else "" for sign in (1, -1))
    return (
        f"{names.head}'s count is higher in {signs.above} of {signs.n} pairs{above_clause} and lower in "
        f"{signs.below}{below_clause}"
    )


def _estimate_pairs_to_settle(signs: Signs, alpha: float) -> int:
    """Estimate how many more pairs would settle a count; if the pairs vary, ask for only a few at a time."""
    has_one_sign = signs.n in {signs.above, signs.equal, signs.below}
    if has_one_sign:  # further pairs probably have it as well
        for n_further in range(1, _MAX_EXTRAPOLATED_PAIRS):
            extrapolated_signs = Signs(*(count + n_further if count else 0 for count in signs))
            # Large differences are tested separately, with their own share of the error probability.
            if decide_direction(extrapolated_signs, (1 - LARGE_ERROR_SHARE) * alpha) or are_balanced(
                extrapolated_signs
            ):
                return n_further
    return count_further_pairs(signs.n)


def count_further_pairs(n_pairs: int) -> int:
    """Return how many pairs to measure before a metric is judged again: a quarter more, but not too few."""
    return max(MIN_FURTHER_PAIRS, n_pairs // 4)
