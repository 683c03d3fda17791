"""Compares a base and a head that were measured interleaved: every metric, with its budget.

:mod:`service.rules.comparison.metric_decision` decides on each metric, with the error probability that
:mod:`service.rules.comparison.error_probability` assigns to it. So the probability that a gate without a change calls
any metric of any case changed is at most ``FALSE_ALARM_PROBABILITY``, however often the caller looks.

A metric that counts towards the verdict but has no values on one side was not compared: it is never "the same".

The measured counts decide, even if both programs got the same answers about their files. A difference is attributed to
something other than the revisions only if a further measurement shows this: of base in the place of head
(:mod:`service.rules.comparison.place_effect`), of both with the page cache renewed
(:mod:`service.rules.comparison.page_cache_renewal`), or of other builds
(:mod:`service.rules.comparison.rebuild_effect`).

If base was not measured next to head, but earlier in the same environment, a count is the same if head repeats the
count of base. Any other result has to be measured interleaved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

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
    get_metric,
)
from runner.contract.comparison import list_differing_settings
from runner.contract.judging import Judging
from runner.contract.level import Number, compute_median, is_repeating
from service.rules.comparison import metric_decision as rules
from service.rules.comparison.budgets import BudgetState, compare_with_budget, get_budget
from service.rules.comparison.error_probability import divide_error_probability
from service.rules.comparison.large_differences import Pairs
from service.rules.comparison.metric_decision import COUNTS, MetricDecision
from service.rules.comparison.missing_values import decide_missing_value, list_missing_sides
from service.rules.comparison.page_cache_renewal import decide_metric_by_page_cache
from service.rules.comparison.place_effect import decide_metric_by_other_place, have_same_answers
from service.rules.comparison.rebuild_effect import decide_metric_by_other_builds
from service.rules.comparison.stored_base_repeats import decide_metric_by_stored_base
from service.rules.relative_change import compute_percent_change

MIN_CHANGE_OF_VARYING_COUNT = 0.05
"""A count that varies without a change is the same once pairs exclude a change of this many percent of base.

The signs of all differences take 140 pairs to show that neither side is favoured. If a count repeats, a difference of
one fault is a change.
"""
MIN_CHANGE_OF_SAME_ANSWERS = 1.0
"""The same percentage if both programs found the same files, so that no change is expected."""


class _MetricResult(NamedTuple):
    """The verdict on one metric."""

    verdict: MetricVerdict
    remaining_pairs: int
    """How many more pairs the metric needs."""


def decide_comparison(request: ComparisonRequest) -> Comparison:
    """Return the verdict on every metric of a comparison, and how many more pairs the comparison needs."""
    base, head, judging = request.base, request.head, request.judging
    measured_names = [
        name
        for name in dict.fromkeys((*base.metrics, *head.metrics))
        if base.list_values(name) or head.list_values(name)
    ]
    names = list(dict.fromkeys((*measured_names, *judging.requested)))
    error_probabilities = divide_error_probability(names, judging, request.cases)
    results = [_decide_metric_verdict(name, request, error_probabilities[name]) for name in names]
    counted_results = [result for result in results if result.verdict.counts]
    verdicts = {result.verdict.verdict for result in counted_results}
    verdicts_by_priority = (Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS)
    return Comparison(
        verdict=next((verdict for verdict in verdicts_by_priority if verdict in verdicts), Verdict.SAME),
        remaining_pairs=max((result.remaining_pairs for result in counted_results), default=0),
        needs_other_builds=any(result.verdict.needs_other_build for result in counted_results),
        needs_other_place=any(result.verdict.needs_other_place for result in counted_results),
        needs_cache_renewal=any(result.verdict.needs_cache_renewal for result in counted_results),
        metrics=tuple(result.verdict for result in results),
        settings=list_differing_settings(base.environment, head.environment),
        same_bytes=have_same_answers(request),
    )


def _decide_metric_verdict(metric: str, request: ComparisonRequest, alpha: float) -> _MetricResult:
    """Return the verdict on one metric, taking into account its budget and other causes of a difference."""
    base, head, judging = request.base, request.head, request.judging
    if request.base_stored:
        pairs, decision = decide_metric_by_stored_base(metric, request, alpha)
    else:
        pairs = list(_pair_values(base, head, metric))
        decision = _decide_metric_by_pairs(metric, pairs, request, alpha)
    # The change of a noisy metric is computed from complete pairs, so its levels are, too.
    values_of_sides = base.list_values(metric), head.list_values(metric)
    if decision.rule == "paired":
        values_of_sides = tuple(value for value, _ in pairs), tuple(value for _, value in pairs)
    # The smallest change that matters: for a count that varies, the one that the pairs exclude.
    threshold = decision.excluded_change
    if not threshold and decision.rule == "paired":
        threshold = judging.get_min_change(metric)
    elif not threshold and decision.rule in COUNTS:
        threshold = 1  # a count has no tolerance
    verdict = build_verdict(
        metric, decision, *values_of_sides, counts=judging.decides_comparison(metric), threshold=threshold
    )
    explained_verdict = decide_metric_by_other_builds(
        decide_metric_by_page_cache(decide_metric_by_other_place(verdict, request), request), base, head
    )
    # The difference is due to the place or the builds, so there is no change to compare with the budget.
    if explained_verdict.verdict is Verdict.SAME and verdict.verdict is Verdict.CHANGED:
        return _MetricResult(explained_verdict.model_copy(update={"budget": get_budget(judging, metric)}), 0)
    return _apply_budget(_MetricResult(explained_verdict, decision.remaining_pairs), pairs, decision, judging, alpha)


def _decide_metric_by_pairs(metric: str, pairs: Pairs, request: ComparisonRequest, alpha: float) -> MetricDecision:
    """Decide whether one metric differs: an exact count by the signs of the pairs, any other metric by an interval.

    An exact count that varies is decided by an interval if the request states a precision for it. A count that is not
    exact is decided by the signs if both sides repeat their counts, and these differ.
    """
    base, head, judging = request.base, request.head, request.judging
    missing_sides = list_missing_sides(metric, request)
    if missing_sides or not pairs:
        return decide_missing_value(metric, missing_sides, request)
    is_counted = all(
        reading.status is Status.COUNTED for reading in (*base.list_readings(metric), *head.list_readings(metric))
    )
    if get_metric(metric).kind is Kind.COUNT and is_counted:
        # A count that varies is judged like a noisy metric if the request states a precision for it.
        has_repeating_sides = is_repeating(base.list_values(metric)) and is_repeating(head.list_values(metric))
        if get_metric(metric).exact and (has_repeating_sides or metric not in judging.precision):
            return _decide_exact_count(pairs, alpha, request)
        # The host affects counts that are not exact, so equal counts prove little. But if both sides repeat their
        # counts, and these differ, the metric does differ.
        if has_repeating_sides:
            decision = rules.decide_count(pairs, alpha)
            if decision.verdict is Verdict.CHANGED:
                return decision
    return rules.decide_noisy_metric(pairs, judging.get_min_change(metric), alpha)


def _decide_exact_count(pairs: Pairs, alpha: float, request: ComparisonRequest) -> MetricDecision:
    """Decide whether a count differs; a count that varies must differ by the smallest change that matters here."""
    if request.worth_proving is not None:  # the smallest change that the request asks about
        return rules.decide_count(pairs, alpha, request.max_pairs, request.worth_proving)
    same_answers = have_same_answers(request)
    least_change = MIN_CHANGE_OF_SAME_ANSWERS if same_answers else MIN_CHANGE_OF_VARYING_COUNT
    decision = rules.decide_count(pairs, alpha, request.max_pairs, least_change)
    if decision.excluded_change is None or not same_answers:
        return decision
    sentence = (
        f"{decision.sentence} Base and head are byte-identical, so the comparison does not look for smaller changes."
    )
    return decision._replace(sentence=sentence)


def _pair_values(base: Report, head: Report, name: str) -> Iterable[tuple[Number, Number]]:
    """Yield the values of a metric in each pair of samples that both have one."""
    missing_reading = Reading(status=Status.NOT_COUNTED)
    for base_sample, head_sample in zip(base.samples, head.samples, strict=False):
        base_value = base_sample.readings.get(name, missing_reading).value
        head_value = head_sample.readings.get(name, missing_reading).value
        if base_value is not None and head_value is not None:
            yield base_value, head_value


def _apply_budget(
    result: _MetricResult, pairs: Pairs, decision: MetricDecision, judging: Judging, alpha: float
) -> _MetricResult:
    """Return the result with the budget applied; a metric that improved or does not count is never over budget."""
    verdict = result.verdict
    budget = get_budget(judging, verdict.metric)
    if not verdict.counts or verdict.direction != "regression":
        return result._replace(verdict=verdict.model_copy(update={"budget": budget}))
    state = compare_with_budget(pairs, decision, budget, alpha)
    remaining_pairs = rules.count_further_pairs(len(pairs)) if state is BudgetState.OPEN else result.remaining_pairs
    budget_sentences = {
        BudgetState.WITHIN: f" The change is within its budget of {budget}.",
        BudgetState.OPEN: f" The change may exceed the budget of {budget}: more runs are needed to decide.",
        BudgetState.OVER: "",
    }
    update = {
        "budget": budget,
        "over_budget": state is BudgetState.OVER,
        "may_exceed": state is BudgetState.OPEN,
        "needs_other_build": verdict.needs_other_build and state is not BudgetState.WITHIN,
        "sentence": verdict.sentence + budget_sentences[state],
    }
    return _MetricResult(verdict.model_copy(update=update), remaining_pairs)


def build_verdict(
    metric: str,
    decision: MetricDecision,
    base: Sequence[Number],
    head: Sequence[Number],
    *,
    counts: bool,
    threshold: float | None = None,
) -> MetricVerdict:
    """Return a decision as a verdict, with the levels of both sides and the change between them.

    Parameters
    ----------
    metric
        The metric.
    base, head
        The values of the metric on the two sides.
    counts
        Whether the metric takes part in the verdict on the whole comparison.
    threshold
        The smallest change that matters, in the unit of the rule; None if the rule has none.
    """
    base_side, head_side = _summarise_side(base), _summarise_side(head)
    change = decision.change
    if change is None and base_side.level is not None and head_side.level is not None:
        change = head_side.level - base_side.level
    goes_up = decision.direction > 0 if decision.direction else change is not None and change > 0
    is_better = goes_up == (get_metric(metric).better == "higher")
    direction: Literal["improvement", "regression"] | None = None
    if decision.verdict is Verdict.CHANGED:
        direction = "improvement" if is_better else "regression"
    return MetricVerdict(
        metric=metric,
        verdict=decision.verdict,
        counts=counts,
        rule=decision.rule,
        base=base_side,
        head=head_side,
        change=change,
        percent=compute_percent_change(change, base_side.level),
        direction=direction,
        bounds=decision.interval,
        threshold=threshold,
        changed_pairs=decision.changed_pairs,
        sentence=decision.sentence,
    )


def _summarise_side(values: Sequence[Number]) -> Side:
    """Return the level of one side, its range, and how many samples agree."""
    level = compute_median(values)
    n_at_level = 0 if level is None else list(values).count(level)
    return Side(
        level=level, low=min(values, default=None), high=max(values, default=None), n=len(values), n_at_level=n_at_level
    )
