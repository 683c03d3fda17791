"""Decides a comparison of base and head that were measured in turns. Pure.

Two rules, and each says so where it decides:

- *exact*: a fault count that repeats is a fact. Where more than half of a side's samples agree on a value, that is its
  level. Equal levels are the same. Unequal ones are a change, one fault suffices, once each side has repeated its own
  level ``CONFIRM`` times with at most one stray sample in ten. Were the count one that jumps between two values at
  random, that would happen with a chance of 2 ∕ 4^CONFIRM.
- *paired*: everything else is noise around a level. Sample i of base and of head ran next to each other, so what the
  host does to both cancels in their relative difference 2 (head − base) ∕ (|head| + |base|), which is defined at a zero
  baseline and only changes its sign when the sides are swapped. The bounds of its median, see
  :func:`runner.contract.level.bounds`, hold at every number of pairs at once, whatever the noise is like: without a
  change, any metric of a comparison is called changed with a chance of at most ``ERROR``, however often one looks.

The bytes of both sides have the last word: where base and head are the same in all that they map and read, they are the
same, whatever was counted; and what files in an undefined state of the page cache can have made is no change.

Where base was not measured beside head but before, in the same environment, a count that head repeats and base had too
is the same. Nothing else follows from that: whatever differs is to be measured in turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from runner.contract import Comparison, ComparisonRequest, MetricVerdict, Reading, Report, Side, Status, Verdict, metric
from runner.contract.budget import Budget, is_over
from runner.contract.comparison import Rule, differing
from runner.contract.level import Number, bounds, majority, median
from service.rules.same_bytes import all_the_same, is_no_fact, material

ERROR = 0.001
"""Chance that a comparison without a change calls any noisy metric changed; shared out among them."""
CONFIRM = 5
"""How many samples of each side must agree before exact counts have changed."""
REPEATING = 0.9
"""Share of a side's samples that agree where a count repeats; detection holds series to the same."""
PRECISION = 3.0
"""Percent: the smallest change that matters of a noisy metric whose workload does not say."""
MORE = 4
"""Pairs to measure before looking at noisy metrics again, or a quarter of those measured where that is more."""

_Pairs = Sequence[tuple[Number, Number]]


class Found(NamedTuple):
    """What was decided, and why."""

    verdict: Verdict
    rule: Rule
    sentence: str


def decide(request: ComparisonRequest) -> Comparison:
    """Return what is known about a comparison, and how many pairs it still needs."""
    base, head = request.base, request.head
    names = [name for name in dict.fromkeys((*base.metrics, *head.metrics)) if base.values(name) or head.values(name)]
    errors = _errors(names, request.precision)
    if request.base_stored:
        judged = (_beside_stored(name, base, head, request.precision) for name in names)
    else:
        judged = (_judge(name, base, head, request.precision, errors[name]) for name in names)
    settled = (_by_bytes(one, base, head) for one in judged)
    verdicts = tuple(_budgeted(one, request.budgets.get(one.metric, 0)) for one in settled)
    counting = [one for one in verdicts if one.counts]
    found = {one.verdict for one in counting}
    order = (Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS)
    return Comparison(
        verdict=next((verdict for verdict in order if verdict in found), Verdict.SAME),
        more=max((_wanted(one) for one in counting), default=0),
        metrics=verdicts,
        knobs=differing(base.environment, head.environment),
    )


def _by_bytes(one: MetricVerdict, base: Report, head: Report) -> MetricVerdict:
    """Let the bytes of base and head speak: the same ones are the same, and what is in doubt is no fact."""
    left, right = material(base), material(head)
    changed, level = one.verdict is Verdict.CHANGED, one.change or 0
    if all_the_same(left, right) and (base.environment, base.command) == (head.environment, head.command):
        sentence = "Base and head are the same bytes: the program, its libraries, and all that it read of its build."
        if changed:
            sentence = f"{sentence} That they were counted differently is the host's doing. {one.sentence}"
        elif one.rule == "exact" and level == 0:
            sentence = f"{sentence} {one.sentence}"
    elif changed and one.rule == "exact" and is_no_fact(level, left, right):
        sentence = (
            f"The counts differ by {abs(level):,}, which is no fact: {left.most:,} faults of base and {right.most:,} "
            "of head were in files whose state in the page cache could not be defined."
        )
    else:
        return one
    return one.model_copy(update={"verdict": Verdict.SAME, "direction": None, "sentence": sentence})


def _budgeted(one: MetricVerdict, budget: Budget) -> MetricVerdict:
    """Hold a verdict to a budget; what got better, and what does not count, cannot be over it."""
    worse = one.counts and one.direction == "regression" and one.base.level is not None and one.change is not None
    over = worse and is_over(budget, one.base.level or 0, one.change or 0)
    within = f" Within its budget, {budget}." if worse and not over else ""
    return one.model_copy(update={"budget": budget, "over": over, "sentence": one.sentence + within})


def _errors(names: Sequence[str], precision: Mapping[str, float]) -> dict[str, float]:
    """Share the error out: half of it among the metrics that count, half among those that are only shown."""
    steering = [name for name in names if metric(name).exact or name in precision]
    return {name: ERROR / 2 / (len(steering) if name in steering else len(names) - len(steering)) for name in names}


def _wanted(one: MetricVerdict) -> int:
    """Return how many pairs more are likely to settle a metric."""
    if one.verdict is not Verdict.NEEDS_MORE_RUNS:
        return 0
    if one.rule == "exact":
        differ = one.base.level != one.head.level
        return max(1, CONFIRM - min(one.base.agree, one.head.agree)) if differ else 1
    return max(MORE, min(one.base.n, one.head.n) // 4)


def _judge(name: str, base: Report, head: Report, precision: Mapping[str, float], error: float) -> MetricVerdict:
    readings = (*base.readings(name), *head.readings(name))
    counted = all(reading.status is Status.COUNTED for reading in readings)
    pairs, sides = list(_pairs(base, head, name)), (base.values(name), head.values(name))
    if pairs and counted and metric(name).exact:
        found = judge_exact(*sides)
        if found is not None:
            return verdict_of(name, found, *sides, counts=True, threshold=1)
    if not pairs:
        sentence = "There is no pair of samples in which both sides have a value."
        found = Found(Verdict.NEEDS_MORE_RUNS, "absent", sentence)
        return verdict_of(name, found, *sides, counts=name in precision)
    counts = metric(name).exact or name in precision
    return _paired(name, pairs, precision.get(name, PRECISION), error, counts=counts)


def _beside_stored(name: str, base: Report, head: Report, precision: Mapping[str, float]) -> MetricVerdict:
    readings = (*base.readings(name), *head.readings(name))
    left, right = majority(base.values(name)), majority(head.values(name))
    exact = metric(name).exact and all(reading.status is Status.COUNTED for reading in readings)
    if exact and left and right and left[0] == right[0] and right[1] >= 2:
        verdict, sentence = (
            Verdict.SAME,
            f"The count that base had, in {right[1]} of {len(head.samples)} samples.",
        )
    else:
        verdict, sentence = Verdict.NEEDS_MORE_RUNS, "Base was measured before, and not beside head."
    counts = metric(name).exact or name in precision
    found = Found(verdict, "exact" if exact else "absent", sentence)
    return verdict_of(name, found, base.values(name), head.values(name), counts=counts)


def _pairs(base: Report, head: Report, name: str) -> Iterable[tuple[Number, Number]]:
    absent = Reading(status=Status.NOT_COUNTED)
    for one, other in zip(base.samples, head.samples, strict=False):
        left, right = one.readings.get(name, absent).value, other.readings.get(name, absent).value
        if left is not None and right is not None:
            yield left, right


def judge_exact(base: Sequence[Number], head: Sequence[Number]) -> Found | None:
    """Judge a count by its levels; None where it does not repeat, so that it is noise like any other."""
    left, right = majority(base), majority(head)
    if left is None or right is None or min(left[1], right[1]) < 2:
        if min(len(base), len(head)) >= CONFIRM:
            return None
        verdict, sentence = Verdict.NEEDS_MORE_RUNS, "More than half of the samples, and two at least, have to agree."
    else:
        shown = f"in {left[1]} of {len(base)} and {right[1]} of {len(head)} samples"
        repeating = left[1] >= REPEATING * len(base) and right[1] >= REPEATING * len(head)
        if left[0] == right[0]:
            verdict, sentence = Verdict.SAME, f"The same count {shown}."
        elif repeating and min(left[1], right[1]) >= CONFIRM:
            verdict, sentence = Verdict.CHANGED, f"Each side repeats its count, {shown}: the difference is a fact."
        elif not repeating and min(len(base), len(head)) > 2 * CONFIRM:
            return None
        else:
            verdict = Verdict.NEEDS_MORE_RUNS
            sentence = f"The counts differ, {shown}; {CONFIRM} of each have to agree, and all but one in ten."
    return Found(verdict, "exact", sentence)


def _paired(name: str, pairs: _Pairs, precision: float, error: float, *, counts: bool) -> MetricVerdict:
    differences = [_relative(base, head) for base, head in pairs]
    within = bounds(differences, error)
    middle = median(differences) or 0
    verdict = Verdict.NEEDS_MORE_RUNS
    if within is None:
        sentence = f"{len(pairs)} pairs are too few to say anything with an error of {error:.2g}."
    else:
        low, high = within
        shown = f"The change is between {low:+.3g} % and {high:+.3g} %, by {len(pairs)} pairs"
        if (low > 0 or high < 0) and 2 * abs(middle) >= precision:
            verdict, sentence = Verdict.CHANGED, f"{shown}: not zero, with an error of {error:.2g}."
        elif -precision < low and high < precision:
            verdict, sentence = Verdict.SAME, f"{shown}: less than the {precision:g} % that matter."
        else:
            sentence = f"{shown}, and {precision:g} % would matter."
    return verdict_of(
        name,
        Found(verdict, "paired", sentence),
        [base for base, _ in pairs],
        [head for _, head in pairs],
        counts=counts,
        threshold=precision,
        between=within,
    )


def _relative(base: Number, head: Number) -> float:
    """Return the difference in percent of the mean of both; halved first, so that no sum is too large."""
    size = abs(base) / 2 + abs(head) / 2
    return 100 * ((head - base) / size) if size else 0.0


def verdict_of(
    name: str,
    found: Found,
    base: Sequence[Number],
    head: Sequence[Number],
    *,
    counts: bool,
    threshold: float | None = None,
    between: tuple[float, float] | None = None,
) -> MetricVerdict:
    """Put a verdict together with what follows from both sides' values."""
    left, right = _side(base), _side(head)
    change = None if left.level is None or right.level is None else right.level - left.level
    up = change is not None and change > 0
    if found.rule == "paired" and between is not None:
        up = between[0] > 0
    good = up == (metric(name).better == "higher")
    return MetricVerdict(
        metric=name,
        verdict=found.verdict,
        counts=counts,
        rule=found.rule,
        base=left,
        head=right,
        change=change,
        percent=percent(change, left.level),
        direction=None if found.verdict is not Verdict.CHANGED else "improvement" if good else "regression",
        bounds=between,
        threshold=threshold,
        sentence=found.sentence,
    )


def percent(change: Number | None, level: Number | None) -> float | None:
    """Return a change in percent of the level that it starts from; None where that is zero, or far too small."""
    if change is None or not level:
        return None
    found = 100 * change / abs(level)
    return found if isfinite(found) else None


def _side(values: Sequence[Number]) -> Side:
    level = median(values)
    agree = 0 if level is None else list(values).count(level)
    return Side(level=level, low=min(values, default=None), high=max(values, default=None), n=len(values), agree=agree)
