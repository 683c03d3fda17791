"""Compares a base and a head that were measured in turns. Pure.

Two rules decide, and each verdict names its rule:

- *exact*: a fault count that repeats is a fact. If more than half of a side's samples agree on a value, that value is
  the level. Equal levels are the same. Unequal levels are a change, even by one fault, once each side has repeated its
  own level ``CONFIRM`` times with at most one stray sample in ten. If the count jumped between two values at random,
  this would happen with a probability of 2 ∕ 4^CONFIRM.
- *paired*: everything else is noise around a level. Sample i of base and sample i of head run next to each other, so
  what the host does to both cancels in their relative difference 2 (head − base) ∕ (|head| + |base|), which is defined
  at a zero baseline and only changes its sign when the sides are swapped. The bounds of its median, see
  :func:`runner.contract.level.bounds`, hold for all numbers of pairs simultaneously, whatever the noise is like:
  without a change, the probability that a comparison calls any metric changed is at most ``ERROR``, however often the
  caller looks.

The bytes of both sides overrule the counts: a base and a head whose programs map and read the same bytes are the same,
and a difference that faults in unprepared files can explain is no change.

If base was measured earlier in the same environment instead of next to head, a count that head repeats and base had
as well is the same. Nothing else follows: whatever differs has to be measured in turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from runner.contract import Comparison, ComparisonRequest, MetricVerdict, Reading, Report, Side, Status, Verdict, metric
from runner.contract.budget import Budget, is_over
from runner.contract.comparison import Rule, differing
from runner.contract.level import Number, bounds, majority, median
from service.rules.relative_change import percent_change, symmetric_percent_change
from service.rules.same_bytes import have_same_bytes, is_uncertain, program_bytes

ERROR = 0.001
"""Probability that a comparison without a change calls any noisy metric changed; it is shared among the metrics."""
CONFIRM = 5
"""How many samples of each side must agree before exact counts are called changed."""
REPEATING = 0.9
"""Share of a side's samples that must agree for a count to repeat; the detector uses the same share for series."""
PRECISION = 3.0
"""The smallest change that matters, in percent, for a noisy metric whose workload does not declare it."""
MORE = 4
"""Pairs to measure before noisy metrics are judged again; a quarter of those measured where that is more."""

_Pairs = Sequence[tuple[Number, Number]]


class MetricDecision(NamedTuple):
    """The decision on one metric, with the rule and the reason."""

    verdict: Verdict
    rule: Rule
    sentence: str


def decide(request: ComparisonRequest) -> Comparison:
    """Judge every metric of a comparison, and return how many more pairs it needs."""
    base, head = request.base, request.head
    names = [name for name in dict.fromkeys((*base.metrics, *head.metrics)) if base.values(name) or head.values(name)]
    errors = _errors(names, request.precision)
    if request.base_stored:
        judged = (_beside_stored(name, base, head, request.precision) for name in names)
    else:
        judged = (_judge(name, base, head, request.precision, errors[name]) for name in names)
    settled = (_by_bytes(verdict, base, head) for verdict in judged)
    verdicts = tuple(_apply_budget(verdict, request.budgets.get(verdict.metric, 0)) for verdict in settled)
    counting = [verdict for verdict in verdicts if verdict.counts]
    present = {verdict.verdict for verdict in counting}
    order = (Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS)
    return Comparison(
        verdict=next((verdict for verdict in order if verdict in present), Verdict.SAME),
        more=max((_pairs_needed(verdict) for verdict in counting), default=0),
        metrics=verdicts,
        knobs=differing(base.environment, head.environment),
    )


def _by_bytes(verdict: MetricVerdict, base: Report, head: Report) -> MetricVerdict:
    """Decide that the same bytes are the same, and that an uncertain difference is none."""
    base_bytes, head_bytes = program_bytes(base), program_bytes(head)
    changed, change = verdict.verdict is Verdict.CHANGED, verdict.change or 0
    if have_same_bytes(base_bytes, head_bytes) and (base.environment, base.command) == (head.environment, head.command):
        sentence = (
            "Base and head have the same bytes: the program, its libraries, and everything it read from its build."
        )
        if changed:
            sentence = f"{sentence} The host caused the difference in the counts. {verdict.sentence}"
        elif verdict.rule == "exact" and change == 0:
            sentence = f"{sentence} {verdict.sentence}"
    elif changed and verdict.rule == "exact" and is_uncertain(change, base_bytes, head_bytes):
        sentence = (
            f"The counts differ by {abs(change):,}, which is uncertain: up to {base_bytes.most_uncertain:,} faults "
            f"of base and {head_bytes.most_uncertain:,} of head were in files that could not be prepared."
        )
    else:
        return verdict
    return verdict.model_copy(update={"verdict": Verdict.SAME, "direction": None, "sentence": sentence})


def _apply_budget(verdict: MetricVerdict, budget: Budget) -> MetricVerdict:
    """Judge a verdict by its budget. A metric that improved, or that does not count, is never over budget."""
    base, change = verdict.base.level, verdict.change
    worse = verdict.counts and verdict.direction == "regression" and base is not None and change is not None
    over = worse and is_over(budget, base or 0, change or 0)
    within = f" Within its budget of {budget}." if worse and not over else ""
    return verdict.model_copy(update={"budget": budget, "over": over, "sentence": verdict.sentence + within})


def _errors(names: Sequence[str], precision: Mapping[str, float]) -> dict[str, float]:
    """Share the error: half of it among the metrics that count, half among those that are only shown."""
    counting = [name for name in names if metric(name).exact or name in precision]
    return {name: ERROR / 2 / (len(counting) if name in counting else len(names) - len(counting)) for name in names}


def _pairs_needed(verdict: MetricVerdict) -> int:
    """Return how many more pairs are likely to settle a metric."""
    if verdict.verdict is not Verdict.NEEDS_MORE_RUNS:
        return 0
    if verdict.rule == "exact":
        differ = verdict.base.level != verdict.head.level
        return max(1, CONFIRM - min(verdict.base.agree, verdict.head.agree)) if differ else 1
    return max(MORE, min(verdict.base.n, verdict.head.n) // 4)


def _judge(name: str, base: Report, head: Report, precision: Mapping[str, float], error: float) -> MetricVerdict:
    readings = (*base.readings(name), *head.readings(name))
    counted = all(reading.status is Status.COUNTED for reading in readings)
    pairs, sides = list(_pairs(base, head, name)), (base.values(name), head.values(name))
    if pairs and counted and metric(name).exact:
        decision = judge_exact(*sides)
        if decision is not None:
            return verdict_of(name, decision, *sides, counts=True, threshold=1)
    if not pairs:
        sentence = "There is no pair of samples in which both sides have a value."
        decision = MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", sentence)
        return verdict_of(name, decision, *sides, counts=name in precision)
    counts = metric(name).exact or name in precision
    return _paired(name, pairs, precision.get(name, PRECISION), error, counts=counts)


def _beside_stored(name: str, base: Report, head: Report, precision: Mapping[str, float]) -> MetricVerdict:
    readings = (*base.readings(name), *head.readings(name))
    left, right = majority(base.values(name)), majority(head.values(name))
    exact = metric(name).exact and all(reading.status is Status.COUNTED for reading in readings)
    if exact and left and right and left[0] == right[0] and right[1] >= 2:
        verdict = Verdict.SAME
        sentence = f"{right[1]} of {len(head.samples)} samples have the count that base had."
    else:
        verdict, sentence = Verdict.NEEDS_MORE_RUNS, "Base was measured earlier, not in turns with head."
    counts = metric(name).exact or name in precision
    decision = MetricDecision(verdict, "exact" if exact else "absent", sentence)
    return verdict_of(name, decision, base.values(name), head.values(name), counts=counts)


def _pairs(base: Report, head: Report, name: str) -> Iterable[tuple[Number, Number]]:
    absent = Reading(status=Status.NOT_COUNTED)
    for base_sample, head_sample in zip(base.samples, head.samples, strict=False):
        left, right = base_sample.readings.get(name, absent).value, head_sample.readings.get(name, absent).value
        if left is not None and right is not None:
            yield left, right


def judge_exact(base: Sequence[Number], head: Sequence[Number]) -> MetricDecision | None:
    """Judge a count by its levels; None where it does not repeat and has to be judged as noise."""
    left, right = majority(base), majority(head)
    if left is None or right is None or min(left[1], right[1]) < 2:
        if min(len(base), len(head)) >= CONFIRM:
            return None
        verdict = Verdict.NEEDS_MORE_RUNS
        sentence = "More than half of the samples, and at least two, have to agree."
    else:
        shown = f"in {left[1]} of {len(base)} and {right[1]} of {len(head)} samples"
        repeating = left[1] >= REPEATING * len(base) and right[1] >= REPEATING * len(head)
        if left[0] == right[0]:
            verdict, sentence = Verdict.SAME, f"The count is the same {shown}."
        elif repeating and min(left[1], right[1]) >= CONFIRM:
            verdict, sentence = Verdict.CHANGED, f"Each side repeats its count, {shown}: the difference is a fact."
        elif not repeating and min(len(base), len(head)) > 2 * CONFIRM:
            return None
        else:
            verdict = Verdict.NEEDS_MORE_RUNS
            sentence = f"The counts differ, {shown}; on each side {CONFIRM} samples and nine in ten have to agree."
    return MetricDecision(verdict, "exact", sentence)


def _paired(name: str, pairs: _Pairs, precision: float, error: float, *, counts: bool) -> MetricVerdict:
    differences = [symmetric_percent_change(base, head) for base, head in pairs]
    interval = bounds(differences, error)
    middle = median(differences) or 0
    verdict = Verdict.NEEDS_MORE_RUNS
    if interval is None:
        sentence = f"{len(pairs)} pairs are too few for an error probability of {error:.2g}."
    else:
        low, high = interval
        shown = f"The change lies between {low:+.3g} % and {high:+.3g} %, by {len(pairs)} pairs"
        if (low > 0 or high < 0) and 2 * abs(middle) >= precision:
            verdict, sentence = Verdict.CHANGED, f"{shown}: not zero, with an error probability of {error:.2g}."
        elif -precision < low and high < precision:
            verdict, sentence = Verdict.SAME, f"{shown}: less than the {precision:g} % that matter."
        else:
            sentence = f"{shown}, while {precision:g} % would matter."
    return verdict_of(
        name,
        MetricDecision(verdict, "paired", sentence),
        [base for base, _ in pairs],
        [head for _, head in pairs],
        counts=counts,
        threshold=precision,
        interval=interval,
    )


def verdict_of(
    name: str,
    decision: MetricDecision,
    base: Sequence[Number],
    head: Sequence[Number],
    *,
    counts: bool,
    threshold: float | None = None,
    interval: tuple[float, float] | None = None,
) -> MetricVerdict:
    """Return a decision as a verdict, with the levels of both sides and the change between them."""
    left, right = _side(base), _side(head)
    change = None if left.level is None or right.level is None else right.level - left.level
    up = change is not None and change > 0
    if decision.rule == "paired" and interval is not None:
        up = interval[0] > 0
    good = up == (metric(name).better == "higher")
    return MetricVerdict(
        metric=name,
        verdict=decision.verdict,
        counts=counts,
        rule=decision.rule,
        base=left,
        head=right,
        change=change,
        percent=percent_change(change, left.level),
        direction=None if decision.verdict is not Verdict.CHANGED else "improvement" if good else "regression",
        bounds=interval,
        threshold=threshold,
        sentence=decision.sentence,
    )


def _side(values: Sequence[Number]) -> Side:
    level = median(values)
    agree = 0 if level is None else list(values).count(level)
    return Side(level=level, low=min(values, default=None), high=max(values, default=None), n=len(values), agree=agree)
