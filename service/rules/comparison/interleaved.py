"""Compares a base and a head that were measured interleaved: every metric, with its budget.

:mod:`service.rules.comparison.metric_decision` decides on each metric, and
:mod:`service.rules.comparison.error_probability` says with which error probability. So the probability that a gate
without a change calls any metric of any case changed is at most ``FALSE_ALARM_PROBABILITY``, however often the caller
looks.

A metric that decides but has no values on one side was not compared: it is never the same.

What was measured decides, whatever the programs were answered when they asked about their files. A difference is not
one of the revisions only if a further measurement shows that: of base in the place of head
(:mod:`service.rules.comparison.other_place`), of both with the page cache renewed
(:mod:`service.rules.comparison.page_cache_renewal`), or of other builds (:mod:`service.rules.comparison.other_builds`).

If base was measured earlier in the same environment instead of next to head, a count that head repeats and base had
as well is the same. Nothing else follows: whatever differs has to be measured interleaved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from runner.contract import (
    Comparison,
    ComparisonRequest,
    Kind,
    MetricVerdict,
    Reading,
    Report,
    Side,
    Status,
    Verdict,
    metric,
)
from runner.contract.comparison import list_differing_settings
from runner.contract.judging import Judging
from runner.contract.level import Number, compute_median, find_majority, is_repeating
from service.rules.comparison import metric_decision as rules
from service.rules.comparison.budgets import BudgetState, compare_with_budget
from service.rules.comparison.error_probability import divide_error_probability
from service.rules.comparison.metric_decision import COUNTS, MetricDecision, Pairs
from service.rules.comparison.other_builds import decide_by_other_builds
from service.rules.comparison.other_place import decide_by_other_place, have_same_answers
from service.rules.comparison.page_cache_renewal import decide_by_page_cache
from service.rules.relative_change import compute_percent_change

MIN_CHANGE_OF_VARYING_COUNT = 0.05
"""The change of a count that varies by itself, in percent of base, that is enough for pairs to exclude.

Signs alone take 140 pairs to show that neither side is favoured. A count that repeats is compared to the fault.
"""
MIN_CHANGE_OF_SAME_ANSWERS = 1.0
"""The same where both programs found the same files, and nothing speaks for a change."""


class _MetricResult(NamedTuple):
    verdict: MetricVerdict
    more: int
    """How many more pairs it needs."""


def decide_comparison(request: ComparisonRequest) -> Comparison:
    """Return the verdict on every metric of a comparison, and how many more pairs it needs."""
    base, head, judging = request.base, request.head, request.judging
    present = [name for name in dict.fromkeys((*base.metrics, *head.metrics)) if base.values(name) or head.values(name)]
    names = list(dict.fromkeys((*present, *judging.requested)))
    errors = divide_error_probability(names, judging, request.cases)
    judged = [_decide_metric_verdict(name, request, errors[name]) for name in names]
    counting = [entry for entry in judged if entry.verdict.counts]
    verdicts = {entry.verdict.verdict for entry in counting}
    order = (Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS)
    return Comparison(
        verdict=next((verdict for verdict in order if verdict in verdicts), Verdict.SAME),
        more=max((entry.more for entry in counting), default=0),
        wants_other_builds=any(entry.verdict.wants_other_build for entry in counting),
        wants_other_place=any(entry.verdict.wants_other_place for entry in counting),
        wants_renewal=any(entry.verdict.wants_renewal for entry in counting),
        metrics=tuple(entry.verdict for entry in judged),
        settings=list_differing_settings(base.environment, head.environment),
        same_bytes=have_same_answers(request),
    )


def _decide_metric_verdict(name: str, request: ComparisonRequest, alpha: float) -> _MetricResult:
    """Return the verdict on one metric, after other causes of a difference and its budget were considered."""
    base, head, judging = request.base, request.head, request.judging
    counts = judging.decides_comparison(name)
    if request.base_stored:
        pairs, decision = _compare_with_stored_base(name, request, alpha)
    else:
        pairs = list(_pair_values(base, head, name))
        decision = _decide_metric(name, pairs, request, alpha)
    sides = base.values(name), head.values(name)
    if decision.rule == "paired":
        sides = tuple(value for value, _ in pairs), tuple(value for _, value in pairs)
    threshold = judging.get_min_change(name) if decision.rule == "paired" else 1 if decision.rule in COUNTS else None
    threshold = decision.excluded or threshold
    verdict = build_verdict(name, decision, *sides, counts=counts, threshold=threshold)
    explained = decide_by_other_builds(
        decide_by_page_cache(decide_by_other_place(verdict, request), request), base, head
    )
    if explained.verdict is Verdict.SAME and verdict.verdict is Verdict.CHANGED:
        return _MetricResult(explained.model_copy(update={"budget": judging.budgets.get(name, 0)}), 0)
    return _apply_budget(_MetricResult(explained, decision.more), pairs, decision, judging, alpha)


def _decide_metric(name: str, pairs: Pairs, request: ComparisonRequest, alpha: float) -> MetricDecision:
    """Decide whether one metric differs: a count by the signs of the pairs, any other metric by an interval."""
    base, head, judging = request.base, request.head, request.judging
    if (missing := _list_missing_sides(name, request)) or not pairs:
        return _decide_missing_value(name, missing, request)
    counted = all(reading.status is Status.COUNTED for reading in (*base.readings(name), *head.readings(name)))
    if metric(name).kind is Kind.COUNT and counted:
        repeating = is_repeating(base.values(name)) and is_repeating(head.values(name))
        if metric(name).exact and (repeating or name not in judging.precision):
            return _decide_exact_count(pairs, alpha, request)
        # The host moves other counts as well, so equal counts prove little. But two different levels that repeat do
        # differ.
        if repeating and (decision := rules.decide_count(pairs, alpha)).verdict is Verdict.CHANGED:
            return decision
    return rules.decide_noisy(pairs, judging.get_min_change(name), alpha)


def _decide_exact_count(pairs: Pairs, alpha: float, request: ComparisonRequest) -> MetricDecision:
    """Decide whether a count differs; if it varies, whether it changed by as much as matters here."""
    if request.worth_proving is not None:
        return rules.decide_count(pairs, alpha, request.most, request.worth_proving)
    same_answers = have_same_answers(request)
    least_change = MIN_CHANGE_OF_SAME_ANSWERS if same_answers else MIN_CHANGE_OF_VARYING_COUNT
    decision = rules.decide_count(pairs, alpha, request.most, least_change)
    if decision.excluded is None or not same_answers:
        return decision
    sentence = f"{decision.sentence} Both programs found the same files, so smaller changes are not searched for."
    return decision._replace(sentence=sentence)


def _list_missing_sides(name: str, request: ComparisonRequest) -> list[str]:
    """Return the sides on which a metric has no value."""
    sides = (("base", request.base), ("head", request.head))
    return [side for side, report in sides if not report.values(name) and report.samples]


def _decide_missing_value(name: str, missing: Sequence[str], request: ComparisonRequest) -> MetricDecision:
    """Return the decision that a value is missing. One more pair may help only if each side has had a value."""
    if not missing:
        sentence = "In no pair of samples do both sides have a value."
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", sentence, more=1)
    reports = [getattr(request, side) for side in missing]
    reasons = [reading.reason for report in reports for reading in report.readings(name) if reading.reason]
    neither = len(missing) == 2
    if reasons:
        who = "Neither base nor head has" if neither else f"The {missing[0]} does not have"
        sentence = f"{who} a value of this metric: {reasons[0]}."
    else:
        sentence = f"{'Neither base nor head reports' if neither else f'The {missing[0]} does not report'} this metric."
    return MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", sentence)


def _compare_with_stored_base(name: str, request: ComparisonRequest, alpha: float) -> tuple[Pairs, MetricDecision]:
    """Compare each sample of head with the level of a stored run of base; return these pairs and the decision."""
    base, head = request.base, request.head
    readings = (*base.readings(name), *head.readings(name))
    if missing := _list_missing_sides(name, request):
        return [], _decide_missing_value(name, missing, request)
    base_majority = find_majority(base.values(name))
    undecided = MetricDecision(
        Verdict.NEEDS_MORE_RUNS, "absent", "Base was measured earlier, not interleaved with head."
    )
    if base_majority is None or not head.values(name):
        return [], undecided
    if not metric(name).exact or not all(reading.status is Status.COUNTED for reading in readings):
        return [], undecided
    pairs = [(base_majority[0], value) for value in head.values(name)]
    decision = rules.decide_count(pairs, alpha, request.most)
    if decision.verdict is Verdict.SAME:
        sentence = f"{head.values(name).count(base_majority[0])} of {len(pairs)} samples have the count that base had."
        return pairs, decision._replace(sentence=sentence)
    is_different = decision.verdict is Verdict.CHANGED or compute_median(head.values(name)) != base_majority[0]
    return pairs, undecided._replace(rule="exact", more=0 if is_different else decision.more)


def _pair_values(base: Report, head: Report, name: str) -> Iterable[tuple[Number, Number]]:
    """Yield the values of a metric in the pairs of which both samples have one."""
    absent = Reading(status=Status.NOT_COUNTED)
    for base_sample, head_sample in zip(base.samples, head.samples, strict=False):
        base_value, head_value = (
            base_sample.readings.get(name, absent).value,
            head_sample.readings.get(name, absent).value,
        )
        if base_value is not None and head_value is not None:
            yield base_value, head_value


def _apply_budget(
    judged: _MetricResult, pairs: Pairs, decision: MetricDecision, judging: Judging, alpha: float
) -> _MetricResult:
    """Apply the budget to a verdict. A metric that improved, or that does not count, is never over budget."""
    verdict = judged.verdict
    budget = judging.budgets.get(verdict.metric, 0)
    if not verdict.counts or verdict.direction != "regression":
        return judged._replace(verdict=verdict.model_copy(update={"budget": budget}))
    state = compare_with_budget(pairs, decision, budget, alpha)
    more = max(rules.MIN_FURTHER_PAIRS, len(pairs) // 4) if state is BudgetState.OPEN else judged.more
    words = {
        BudgetState.WITHIN: f" Within its budget of {budget}.",
        BudgetState.OPEN: f" The change may exceed the budget of {budget}: more runs must decide.",
        BudgetState.OVER: "",
    }
    update = {
        "budget": budget,
        "over": state is BudgetState.OVER,
        "may_exceed": state is BudgetState.OPEN,
        "wants_other_build": verdict.wants_other_build and state is not BudgetState.WITHIN,
        "sentence": verdict.sentence + words[state],
    }
    return _MetricResult(verdict.model_copy(update=update), more)


def build_verdict(
    name: str,
    decision: MetricDecision,
    base: Sequence[Number],
    head: Sequence[Number],
    *,
    counts: bool,
    threshold: float | None = None,
) -> MetricVerdict:
    """Return a decision as a verdict, with the levels of both sides and the change between them."""
    base_side, head_side = _summarise_side(base), _summarise_side(head)
    change = decision.change
    if change is None and base_side.level is not None and head_side.level is not None:
        change = head_side.level - base_side.level
    up = decision.direction > 0 if decision.direction else change is not None and change > 0
    good = up == (metric(name).better == "higher")
    return MetricVerdict(
        metric=name,
        verdict=decision.verdict,
        counts=counts,
        rule=decision.rule,
        base=base_side,
        head=head_side,
        change=change,
        percent=compute_percent_change(change, base_side.level),
        direction=None if decision.verdict is not Verdict.CHANGED else "improvement" if good else "regression",
        bounds=decision.interval,
        threshold=threshold,
        times=decision.times,
        sentence=decision.sentence,
    )


def _summarise_side(values: Sequence[Number]) -> Side:
    """Return the level of one side, its range, and how many samples agree."""
    level = compute_median(values)
    agree = 0 if level is None else list(values).count(level)
    return Side(level=level, low=min(values, default=None), high=max(values, default=None), n=len(values), agree=agree)
