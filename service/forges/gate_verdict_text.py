"""Words the verdict of a gate as one sentence, short enough for a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from runner.contract import MetricVerdict, Outcome, Stage, get_metric
from runner.contract.explanation import Explanation
from runner.contract.explanation_text import describe_explanation
from runner.contract.gate import JudgeChange, JudgeSource
from runner.contract.metric_verdict_text import describe_direction, format_change, has_clearly_moved, name_metric
from runner.contract.number_text import capitalize_first_letter, format_count
from runner.contract.word_list import join_words
from service.rules.gate.time_change import describe_levels, describe_time_change
from service.rules.gate.verdict import CaseOutcome, GateOutcome, GateState, MetricOutcome

_MAX_NAMED_CHANGES = 8
"""Number of changes of the workload file that are named; further changes are counted."""
_MAX_GROUPED_DIGITS = 20
_WORD = re.compile("[a-z]+")
"""The name of a table of the workload file, such as ``budget``; any other text in a report is untrusted."""
Escape = Callable[[str], str]
"""Escapes untrusted text from a repository."""
_STAGE_FAILURES: Mapping[Stage | None, str] = {Stage.BUILD: "does not build", Stage.RUN: "does not run to completion"}
_UNMEASURED_STATES: Mapping[GateState, str] = {
    GateState.HEAD_FAILED: "",
    GateState.DISTURBED: ", so there is nothing to compare",
    GateState.OLD_BASE_FAILED: ", and the base is not the tip of the target branch",
    GateState.BASE_FAILED: ", so there is nothing to compare head with",
    GateState.UNMEASURED: ", so there is nothing to compare",
    GateState.NOTHING: ", so nothing was compared",
}
"""The states of a gate with a case that was not measured, each with the end of the sentence about this case."""
_STAGE_SUCCESSES: Mapping[Stage | None, str] = {Stage.BUILD: "builds", Stage.RUN: "runs to completion"}


def describe_gate_verdict(outcome: GateOutcome, escape: Escape) -> str:
    """Return the verdict in words: a warning if the pull request changes how it is judged, then the outcome."""
    warning = ""
    if outcome.changes_to_accept and outcome.accepted is None:
        warning = "This pull request changes how it is judged, and nobody has accepted that. "
    clear_moves = _describe_clear_moves(outcome, escape)
    return f"{warning}{_describe_state(outcome, escape)}{clear_moves}{_describe_acceptance(outcome, escape)}"


def describe_explanations(outcome: GateOutcome, escape: Escape) -> list[tuple[str, str]]:
    """Return why cases got worse, as pairs of a case and a sentence, the largest relative growth first."""
    entries = []
    for case in outcome.cases:
        explanation = case.case.explanation
        if explanation is not None:
            entries.append((_measure_growth(explanation), case.name, describe_explanation(explanation, escape)))
    entries.sort(key=lambda growth_and_texts: -growth_and_texts[0])
    return [(name, sentence) for _, name, sentence in entries if sentence]


def _measure_growth(explanation: Explanation) -> float:
    """Return the relative growth of a case's faults; 0 if the explanation has no numbers."""
    difference = explanation.difference
    return difference.faults / max(1, difference.before) if difference else 0.0


def describe_judge(outcome: GateOutcome, escape: Escape) -> str:
    """Return sentences on head's changes to how it is judged, and on the file that judged it; empty if as usual."""
    report = outcome.report
    parts = []
    if report.changes:
        changes = "; ".join(_describe_judging_change(change, escape) for change in report.changes[:_MAX_NAMED_CHANGES])
        others_clause = _describe_remaining_items(len(report.changes) - _MAX_NAMED_CHANGES, "change")
        parts.append(f"This pull request changes how it is judged: {changes}{others_clause}.")
        if outcome.changes_to_accept:
            parts.append("Somebody must accept that." if outcome.accepted is None else "Somebody has accepted that.")
        if report.judged_by is JudgeSource.TARGET:
            parts.append("Until this pull request is merged, the target branch's workload file is used.")
    if report.judged_by is JudgeSource.HEAD and not report.changes:
        parts.append("Head's workload file was used, because the target branch does not have one yet.")
    if any(case.case.base.case.definition != case.case.head.case.definition for case in outcome.cases):
        parts.append("Base and head were each built and run according to their own workload file.")
    if report.merge:
        count = len(report.merge_bases)
        parts.append(
            f"The branches have {count} merge bases, so the result of merging the branches was compared "
            f"with {report.base[:10]}, the tip of the target branch."
        )
    return " ".join(parts)


def _describe_judging_change(change: JudgeChange, escape: Escape) -> str:
    """Return a change of a key in words, such as "budget of minor-faults 10 → 2,000" or "matrix loses n=9"."""
    table, _, key = change.key.partition(".")
    if table == "file":
        return f"the target branch's workload file cannot be read ({escape(' '.join(change.before))})"
    if table == "folder":
        return "the files in the workload's folder"
    if table == "matrix":
        sides = (("loses", change.before), ("gains", change.after))
        parts = [f"{verb} {_join_names([escape(item) for item in items])}" for verb, items in sides if items]
        return f"matrix {' and '.join(parts)}"
    metric_table, _, name = key.partition(".")
    if table == "metrics" and name:
        shown_table = metric_table if _WORD.fullmatch(metric_table) else escape(metric_table)
        subject = f"{shown_table} of {escape(name)}"
    else:
        subject = escape(key if table in {"workload", "metrics"} else f"[{table}] {key}")
    missing_value = "0" if metric_table == "budget" else "none"  # A metric without a budget has a budget of 0.
    before = " ".join(map(_group_digits, change.before)) or missing_value
    after = " ".join(map(_group_digits, change.after)) or missing_value
    return f"{subject} {escape(before)} → {escape(after)}"


def _group_digits(text: str) -> str:
    """Return an integer with commas, and any other text unchanged."""
    return f"{int(text):,}" if text.isascii() and text.isdecimal() and len(text) < _MAX_GROUPED_DIGITS else text


def _describe_state(outcome: GateOutcome, escape: Escape) -> str:
    """Return the outcome of a gate in one sentence, by its state."""
    state, cases = outcome.state, outcome.cases
    if not cases:
        return "Nothing was measured, because there were no cases."
    if state in _UNMEASURED_STATES:
        return _describe_unmeasured_cases(outcome, escape)
    if state in {GateState.UNDECIDED, GateState.HEAD_LACKS}:
        return _describe_undecided_metrics(outcome, escape)
    if state in {GateState.SAME, GateState.ADDED}:
        return _describe_unchanged_metrics(outcome, escape)
    if state is GateState.GRADUALLY_OVER:
        row = next(outcome.list_changed_metrics())
        step, budget = format_change(row.metric_verdict), row.metric_verdict.budget
        metric_name = f"{escape(row.case)} ({format_metric_name(row.metric_verdict, escape)})"
        total = describe_baseline_change(row)
        return f"Worse step by step: {total} in {metric_name}. The last step, {step}, is within the budget of {budget}."
    return f"{_describe_changes(outcome, escape)}."


def _describe_clear_moves(outcome: GateOutcome, escape: Escape) -> str:
    """Return a sentence on unjudged metrics that clearly got worse; empty if a judged change already shows it."""
    cases_already_named = {row.case for row in outcome.list_changed_metrics()}
    rows = [
        row
        for row in outcome.metrics
        if row.case not in cases_already_named
        and has_clearly_moved(row.metric_verdict)
        and describe_direction(row.metric_verdict) == "worse"
    ]
    if not rows:
        return ""
    first_row, *other_rows = rows
    others_clause = _describe_remaining_items(len(other_rows), "metric")
    levels = describe_levels(first_row.metric_verdict, escape)
    return f" Not judged, but clearly worse: {levels} in {escape(first_row.case)}{others_clause}."


def _describe_unchanged_metrics(outcome: GateOutcome, escape: Escape) -> str:
    """Return the sentence that nothing has changed, and in which metrics; or that head only adds cases."""
    count = sum(case.state is GateState.SAME for case in outcome.cases)
    if not count:
        pronoun = "it" if len(outcome.cases) == 1 else "them"
        return f"Head adds {format_count(len(outcome.cases), 'case')}: there is nothing to compare {pronoun} with."
    unchanged_clause = f"No change in {_join_names(_list_judged_titles(outcome, escape))}"
    statement = "No change, because base and head are byte-identical," if outcome.same_bytes else unchanged_clause
    return f"{statement} in {format_count(count, 'case')}."


def _describe_unmeasured_cases(outcome: GateOutcome, escape: Escape) -> str:
    """Return a sentence on the unmeasured cases: which side failed, and at what."""
    # NOTHING is the state of a gate whose cases are all unmeasured, not that of a case.
    case_state = GateState.UNMEASURED if outcome.state is GateState.NOTHING else outcome.state
    cases = [case for case in outcome.cases if case.state is case_state]
    worst_case = cases[0]
    failures = describe_failures(worst_case)
    n_alike = sum(describe_failures(case) == failures for case in cases)
    case_names = f"{escape(worst_case.name)}{_describe_remaining_items(n_alike - 1, 'case')}"
    n_different = len(cases) - n_alike
    rest = f" {format_count(n_different, 'more case')} could not be compared either." if n_different else ""
    if worst_case.first_failure is None:
        opening = "A case was not measured" if n_alike == 1 else f"{n_alike} cases were not measured"
        if outcome.state is GateState.NOTHING:
            opening = "Nothing was measured"
        return f"{opening}: none of the judged metrics has a value in {case_names}.{rest}"
    sentence_end = _UNMEASURED_STATES[outcome.state]
    sentence = f"{capitalize_first_letter(failures)}{sentence_end}: {case_names}.{rest}"
    if outcome.state is GateState.OLD_BASE_FAILED:
        return f"{sentence} Merge the target branch into head, or ask somebody to accept head."
    return sentence


def describe_failures(case: CaseOutcome) -> str:
    """Return a clause on the sides of a case that failed, and at what; empty if both sides were measured."""
    if not case.failures:
        return ""
    # A side that was only skipped did not fail at any stage: it "was not measured".
    has_failed = Outcome.FAILED in {case.case.base.outcome, case.case.head.outcome}
    stages = [failure.stage if has_failed else None for _, failure in case.failures]
    if len(stages) == 2 and stages[0] == stages[1]:
        return f"neither the base nor the head {_STAGE_SUCCESSES.get(stages[0], 'was measured')}"
    parts = (
        f"the {side} {_STAGE_FAILURES.get(stage, 'was not measured')}"
        for (side, _), stage in zip(case.failures, stages, strict=True)
    )
    return " and ".join(parts)


def _describe_undecided_metrics(outcome: GateOutcome, escape: Escape) -> str:
    """Return a sentence on the change of the faults if that is decided, and on the metrics that are undecided."""
    open_rows = [row for row in outcome.metrics if row.is_open]
    if any(outcome.list_changed_metrics()):
        opening = _describe_changes(outcome, escape)
    else:
        are_faults_open = any(row.is_count for row in open_rows)
        are_faults_judged = any(row.metric_verdict.counts and row.is_count for row in outcome.metrics)
        opening = "No change in faults" if are_faults_judged and not are_faults_open else "Not decided"
    sentence = _describe_open_metrics(open_rows, escape)
    return f"{opening}. {capitalize_first_letter(sentence)}."


def _describe_open_metrics(rows: Sequence[MetricOutcome], escape: Escape) -> str:
    """Return a clause on the undecided metrics of the first of three kinds that occurs.

    These are metrics without a value, metrics that some executions of head lack, and metrics that need more runs.
    """
    missing_rows = [row for row in rows if row.metric_verdict.rule == "absent"]
    rows_without_head_samples = [row for row in rows if row.lacks_head_samples]
    described_rows = missing_rows or rows_without_head_samples or rows
    titles, case_names = describe_rows(described_rows, escape)
    if missing_rows:
        clauses = {_describe_side_without_value(row.metric_verdict) for row in missing_rows}
        return f"{clauses.pop() if len(clauses) == 1 else 'base or head has no value for'} {titles} in {case_names}"
    if rows_without_head_samples:
        return f"some executions of head have no value for {titles} in {case_names}"
    if all(row.metric_verdict.may_exceed for row in described_rows):
        if len(described_rows) == 1:
            return "more runs are needed to decide whether the change exceeds the budget"
        return (
            f"more runs are needed to decide whether {titles} {_choose_verb(titles, 'exceeds', 'exceed')} the budget "
            f"in {case_names}"
        )
    return f"{titles} {_choose_verb(titles, 'needs', 'need')} more runs in {case_names}"


def describe_rows(rows: Sequence[MetricOutcome], escape: Escape) -> tuple[str, str]:
    """Return the metrics of some rows, and their cases, each in words."""
    titles = _join_names(list(dict.fromkeys(format_metric_name(row.metric_verdict, escape) for row in rows)))
    cases = list(dict.fromkeys(row.case for row in rows))
    return titles, f"{escape(cases[0])}{_describe_remaining_items(len(cases) - 1, 'case')}"


def _choose_verb(titles: str, singular: str, plural: str) -> str:
    """Return the form of a verb after titles of metrics: titles of faults and lists of titles are plural."""
    return plural if titles.endswith("faults") or " and " in titles else singular


def _describe_side_without_value(verdict: MetricVerdict) -> str:
    """Return the side without samples of the metric, as a subject and a verb before the metric's name."""
    if not verdict.base.n and not verdict.head.n:
        return "base and head have no value for"
    return f"{'head' if verdict.base.n else 'base'} has no value for"


def _describe_changes(outcome: GateOutcome, escape: Escape) -> str:
    """Return a sentence on the change that matters most, with the number of other changes."""
    first_row, *other_rows = outcome.list_changed_metrics()  # those that need most attention come first
    verdict = first_row.metric_verdict
    opening = "Better"
    if verdict.direction == "regression":
        opening = "Worse" if verdict.over_budget or verdict.may_exceed else "Worse, within budget"
    case = next(case for case in outcome.cases if case.name == first_row.case)
    return f"{opening}: {_describe_row(first_row, case, escape)}{_describe_remaining_items(len(other_rows), 'change')}"


def _list_judged_titles(outcome: GateOutcome, escape: Escape) -> list[str]:
    """Return the titles of the judged metrics; the fault counts share one title."""
    rows = [row.metric_verdict for row in outcome.metrics if row.metric_verdict.counts]
    names = ("faults" if get_metric(verdict.metric).exact else format_metric_name(verdict, escape) for verdict in rows)
    return sorted(dict.fromkeys(names), key=lambda name: name != "faults")


def _join_names(names: Sequence[str]) -> str:
    """Return up to three names as a list in a sentence; of more names, two and the number of the others."""
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} others"]
    return join_words(names)


def describe_baseline_change(row: MetricOutcome) -> str:
    """Return the change since the baseline in words; empty if the row has no baseline."""
    if row.baseline is None or row.metric_verdict.head.level is None:
        return ""
    total = row.metric_verdict.head.level - row.baseline.level
    percent = 100 * total / abs(row.baseline.level) if row.baseline.level else None
    baseline_side = row.metric_verdict.base.model_copy(update={"level": row.baseline.level})
    since_baseline = row.metric_verdict.model_copy(update={"base": baseline_side, "change": total, "percent": percent})
    return f"{format_change(since_baseline)} since {row.baseline.commit[:10]}"


def _describe_row(row: MetricOutcome, case: CaseOutcome, escape: Escape) -> str:
    """Return the change of a metric in words: its size, its price in CPU time, and its case."""
    time = describe_time_change(case, row)
    change = f"{format_change(row.metric_verdict)}, {time}," if time else format_change(row.metric_verdict)
    return f"{change} in {escape(row.case)} ({format_metric_name(row.metric_verdict, escape)})"


def _describe_acceptance(outcome: GateOutcome, escape: Escape) -> str:
    """Return a sentence on who accepted the change and why, or that somebody must accept it; empty if neither."""
    if outcome.accepted is None:
        return " Somebody must accept that." if outcome.state is GateState.HEAD_LACKS else ""
    if not outcome.needs_acceptance:
        return ""
    reason = f": {escape(outcome.accepted.reason)}" if outcome.accepted.reason else ""
    return f" Accepted by {escape(outcome.accepted.author)}{reason}."


def format_metric_name(verdict: MetricVerdict, escape: Escape) -> str:
    """Return the title of a metric in the catalogue, or the name that a workload file gave it."""
    return name_metric(verdict.metric, escape)


def _describe_remaining_items(count: int, noun: str) -> str:
    return f", and {format_count(count, f'other {noun}')}" if count > 0 else ""
