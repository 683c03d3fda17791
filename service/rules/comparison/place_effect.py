"""Settles the contradiction between counts that differ and file lookups that all had the same answers.

The difference is due to head, or to the place in which it was measured: its folder. A measurement shows which: base is
built again in the place of head and executed there. If it counts as it did in its own place, the revisions differ in
something that the recorded lookups do not show. If it counts as head does, the place makes the difference. This
explains at most as many faults as other builds can: the path of the folder depends on the commit, and the count of a
program that reads this path may be anything.
"""

from __future__ import annotations

from typing import Literal

from runner.contract import ComparisonRequest, MetricVerdict, Verdict
from runner.contract.level import Number, compute_median
from runner.contract.number_text import format_number
from runner.contract.other_builds import MAX_FAULTS_BETWEEN_BUILDS
from service.rules.comparison.metric_decision import COUNTS, decide_count
from service.rules.same_bytes import have_same_bytes, read_program_bytes

FALSE_ALARM_PROBABILITY = 0.001
"""Probability that two places with the same count are judged to differ."""


def have_same_answers(request: ComparisonRequest) -> bool:
    """Return whether both programs ran in the same way, and all their file lookups had the same answers."""
    base, head = request.base, request.head
    ran_alike = (base.environment, base.command) == (head.environment, head.command)
    return ran_alike and have_same_bytes(read_program_bytes(base), read_program_bytes(head))


def decide_metric_by_other_place(verdict: MetricVerdict, request: ComparisonRequest) -> MetricVerdict:
    """Return the verdict on a count after base was measured in the place of head, or one that asks for that.

    Only a changed count is affected, and only if all file lookups of both programs had the same answers, so that they
    should have the same count. The count is the same if base in the place of head counts as head does, and the
    difference is no larger than one between two builds. Otherwise it stays changed, and the sentence says what the
    measurement showed.

    A stored base has to be measured next to head first, so nothing is asked for then.
    """
    if verdict.verdict is not Verdict.CHANGED or verdict.rule not in COUNTS or not have_same_answers(request):
        return verdict
    base_in_head_place = request.base.other_place
    if base_in_head_place is None:
        sentence = (
            f"{verdict.sentence} But base and head are byte-identical, so the folder may have caused the difference."
        )
        return verdict.model_copy(update={"needs_other_place": not request.base_stored, "sentence": sentence})
    counts_in_head_place = base_in_head_place.counted.get(verdict.metric, ())
    cause = _find_cause(
        counts_in_head_place, request.base.list_values(verdict.metric), request.head.list_values(verdict.metric)
    )
    if cause == "place":
        return _explain_by_place(verdict, counts_in_head_place)
    if cause == "content":
        explanation = (
            "In head's folder, base's count stays the same. No file that the program looked for differs, but something "
            f"else in the tree does{_format_differences(base_in_head_place.differences)}."
        )
    else:
        explanation = (
            "Base was also built and run in head's folder, but its count there does not explain the difference."
        )
    return verdict.model_copy(update={"sentence": f"{verdict.sentence} {explanation}"})


def _explain_by_place(verdict: MetricVerdict, counts_in_head_place: tuple[Number, ...]) -> MetricVerdict:
    """Return the verdict on a count that base also has in the place of head.

    It is "same" unless the difference is larger than one that another build of the same commit can make.
    """
    formatted_count = format_number(compute_median(counts_in_head_place) or 0)
    base_has_count = f"Base also has a count of {formatted_count} when it is built and run in head's folder"
    if abs(verdict.change or 0) > MAX_FAULTS_BETWEEN_BUILDS:
        sentence = (
            f"{verdict.sentence} {base_has_count}, so both counts depend on the path or on the state of the files "
            "there."
        )
        return verdict.model_copy(update={"sentence": sentence})
    sentence = (
        f"{base_has_count}, so the difference comes from the path or the state of the files there, not from the "
        f"revision. {verdict.sentence}"
    )
    changes = {"verdict": Verdict.SAME, "direction": None, "changed_pairs": None, "same_because": "place"}
    return verdict.model_copy(update={**changes, "sentence": sentence})


def _find_cause(
    counts_in_head_place: tuple[Number, ...], base_counts: tuple[Number, ...], head_counts: tuple[Number, ...]
) -> Literal["place", "content", "unknown"]:
    """Return the cause of a difference, according to the counts of base in the place of head."""
    if not counts_in_head_place:
        return "unknown"
    pairs_with_head = list(zip(counts_in_head_place, head_counts, strict=False))
    pairs_with_base = list(zip(counts_in_head_place, base_counts, strict=False))
    comparison_with_head = decide_count(pairs_with_head, FALSE_ALARM_PROBABILITY)
    comparison_with_base = decide_count(pairs_with_base, FALSE_ALARM_PROBABILITY)
    if comparison_with_head.verdict is Verdict.SAME and comparison_with_base.verdict is Verdict.CHANGED:
        return "place"
    return "content" if comparison_with_head.verdict is Verdict.CHANGED else "unknown"


def _format_differences(differences: tuple[str, ...]) -> str:
    return f": {'; '.join(differences)}" if differences else ""
