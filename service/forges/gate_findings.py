"""Lists the findings of a gate: everything in its outcome that needs attention.

The annotations of the check run and the runner's reports in the formats of other CI systems are made from this list, so
that all of them say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from runner.contract.explanation_text import describe_explanation
from runner.contract.gate import FindingRule, GateFinding
from runner.contract.metric_verdict_text import format_change
from service.forges.gate_verdict_text import (
    describe_baseline_change,
    describe_failures,
    describe_gate_verdict,
    describe_judge,
    format_metric_name,
)
from service.rules.gate.verdict import CaseOutcome, GateOutcome, GateState, MetricOutcome
from service.text.markdown import make_text_plain

_MAX_TEXT_CHARACTERS = 1_000
_MAX_PATH_CHARACTERS = 1_000
_FAILING_STATES = {GateState.HEAD_FAILED, GateState.DISTURBED, GateState.OLD_BASE_FAILED}
"""States of an unmeasured case that make the gate fail."""


def list_findings(outcome: GateOutcome) -> tuple[GateFinding, ...]:
    """Return the findings of a gate. There is a failure among them if, and only if, the gate fails."""
    if not outcome.cases:
        level: Literal["failure", "warning"] = "warning" if outcome.passed else "failure"
        return (
            *_list_judge_findings(outcome),
            GateFinding(
                rule=FindingRule.NOT_MEASURED,
                level=level,
                title="Nothing was measured",
                message=describe_gate_verdict(outcome, make_text_plain),
            ),
        )
    return (
        *_list_judge_findings(outcome),
        *(finding for case in outcome.cases for finding in _list_case_findings(case, outcome)),
    )


def _list_judge_findings(outcome: GateOutcome) -> Iterator[GateFinding]:
    """Yield findings about head's changes to how it is measured and judged."""
    if outcome.report.changes:
        level: Literal["failure", "notice"] = (
            "failure" if outcome.changes_to_accept and not outcome.accepted else "notice"
        )
        yield GateFinding(
            rule=FindingRule.JUDGE_CHANGED,
            level=level,
            title="This pull request changes how it is judged",
            message=make_text_plain(describe_judge(outcome, make_text_plain), _MAX_TEXT_CHARACTERS),
            file=next((case.case.file for case in outcome.cases), ""),
        )


def _list_case_findings(case: CaseOutcome, outcome: GateOutcome) -> Iterator[GateFinding]:
    """Yield the findings about one case and its metrics."""
    if case.state is GateState.ADDED:
        return
    if case.comparison is None or case.state is GateState.UNMEASURED:
        yield _build_unmeasured_finding(case, outcome)
        return
    for row in case.metrics:
        yield from _list_metric_findings(case, row, outcome)


def _build_unmeasured_finding(case: CaseOutcome, outcome: GateOutcome) -> GateFinding:
    """Return the finding about a case that was not measured."""
    _side, failure = case.first_failure or (None, None)
    is_failing = not outcome.passed and (case.state in _FAILING_STATES or outcome.state is GateState.NOTHING)
    return GateFinding(
        rule=FindingRule.NOT_MEASURED,
        level="failure" if is_failing else "warning",
        case=case.name,
        title=make_text_plain(
            f"{case.name}: {describe_failures(case)}" if failure else f"{case.name} was not measured"
        ),
        message=make_text_plain(
            failure.message if failure else "None of the judged metrics has a value.", _MAX_TEXT_CHARACTERS
        ),
        file=case.case.file,
    )


def _list_metric_findings(case: CaseOutcome, row: MetricOutcome, outcome: GateOutcome) -> Iterator[GateFinding]:
    """Yield the finding about one metric, if it needs attention."""
    verdict = row.metric_verdict
    level: Literal["failure", "warning", "notice"] = "notice"
    # Over the budget, either at once, or in small steps since the baseline, each of which is within it.
    if verdict.over_budget or row.gradual_change is not None:
        rule = FindingRule.OVER_BUDGET if verdict.over_budget else FindingRule.STEP_BY_STEP
        level = "notice" if outcome.passed else "failure"
    elif row.lacks_head_samples:
        rule, level = FindingRule.UNDECIDED, "warning" if outcome.passed else "failure"
    elif row.is_open:
        rule, level = FindingRule.UNDECIDED, "warning"
    elif row.changed and verdict.direction == "regression":
        rule = FindingRule.WITHIN_BUDGET
    else:
        return
    formatted_change = describe_baseline_change(row) if rule is FindingRule.STEP_BY_STEP else format_change(verdict)
    change_clause = "" if verdict.change is None else f"{formatted_change}, budget {verdict.budget}. "
    # An exceeded budget is annotated at the source line that causes more faults, if that is known; everything else at
    # the line of the workload file that sets the budget.
    explanation_clause = ""
    file, line = case.case.file, case.case.lines.get(verdict.metric, 1)
    if case.case.explanation and verdict.over_budget:
        explanation_clause = f" {describe_explanation(case.case.explanation, make_text_plain)}"
        file, line = _find_source_line(case) or (file, line)
    yield GateFinding(
        rule=rule,
        level=level,
        case=case.name,
        metric=verdict.metric,
        title=make_text_plain(f"{case.name}: {format_metric_name(verdict, make_text_plain)}"),
        message=make_text_plain(f"{change_clause}{verdict.sentence}{explanation_clause}", _MAX_TEXT_CHARACTERS),
        file=file,
        line=line,
    )


def _find_source_line(case: CaseOutcome) -> tuple[str, int] | None:
    """Return the source line of the repository that causes more faults; None if it is unknown or outside it."""
    leading_part = case.case.explanation.leading_part if case.case.explanation else None
    if leading_part is None or not leading_part.source_line:
        return None
    path = PurePosixPath(leading_part.source_file.removeprefix("./"))
    is_inside = path.parts and not path.is_absolute() and ".." not in path.parts
    return (str(path), leading_part.source_line) if is_inside and len(str(path)) <= _MAX_PATH_CHARACTERS else None
