"""Decides whether head repeats the count of a stored run of base, which was measured earlier."""

from __future__ import annotations

from runner.contract import ComparisonRequest, Status, Verdict, get_metric
from runner.contract.level import compute_median, find_majority
from service.rules.comparison.large_differences import Pairs
from service.rules.comparison.metric_decision import MetricDecision, decide_count
from service.rules.comparison.missing_values import decide_missing_value, list_missing_sides


def decide_metric_by_stored_base(metric: str, request: ComparisonRequest, alpha: float) -> tuple[Pairs, MetricDecision]:
    """Compare each sample of head with the level of a stored run of base; return these pairs and the decision.

    The only possible result is "the same". If head seems to differ, no further pairs of this kind are asked for,
    because both sides have to be measured interleaved.
    """
    base, head = request.base, request.head
    readings = (*base.list_readings(metric), *head.list_readings(metric))
    missing_sides = list_missing_sides(metric, request)
    if missing_sides:
        return [], decide_missing_value(metric, missing_sides, request)
    base_majority = find_majority(base.list_values(metric))
    undecided_result = MetricDecision(
        Verdict.NEEDS_MORE_RUNS, "absent", "Base was measured earlier, not interleaved with head."
    )
    if base_majority is None or not head.list_values(metric):
        return [], undecided_result  # there is no count that head could repeat, or no sample of head yet
    if not get_metric(metric).exact or not all(reading.status is Status.COUNTED for reading in readings):
        return [], undecided_result  # values that the host affects, and estimates, differ between sessions
    base_count, _ = base_majority
    pairs = [(base_count, value) for value in head.list_values(metric)]
    decision = decide_count(pairs, alpha, request.max_pairs)
    if decision.verdict is Verdict.SAME:
        sentence = (
            f"{head.list_values(metric).count(base_count)} of {len(pairs)} head samples have the count that base had."
        )
        return pairs, decision._replace(sentence=sentence)
    is_different = decision.verdict is Verdict.CHANGED or compute_median(head.list_values(metric)) != base_count
    return pairs, undecided_result._replace(
        rule="exact", remaining_pairs=0 if is_different else decision.remaining_pairs
    )
