"""Renders the outcome of a gate as the comment on a pull request, in Markdown.

The verdict comes first. If the table is too long for GitHub, whole rows are left out, and the comment says how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from runner.contract import MetricVerdict, Verdict, get_metric, metric_verdict_text
from runner.contract.comparison import Side
from runner.contract.metric_verdict_text import format_change
from runner.contract.number_text import capitalize_first_letter, format_count, format_quantity, format_range
from service.forges.comment_links import Links, format_last_line
from service.forges.comment_next_steps import explain_faults, offer_acceptance, offer_bisect, suggest_commands
from service.forges.gate_verdict_text import (
    describe_baseline_change,
    describe_explanations,
    describe_gate_verdict,
    describe_judge,
    describe_rows,
    format_metric_name,
)
from service.rules.comparison.metric_decision import describe_bounds
from service.rules.gate import case_diagnosis
from service.rules.gate.verdict import CaseOutcome, GateOutcome, MetricOutcome
from service.text.markdown import format_block, format_code

MAX_COMMENT_BYTES = 65_536
"""GitHub's limit for a comment. It is in characters, but applied to bytes here: a text never has fewer of these."""
_MAX_SETTINGS = 10
_MAX_SETTING_CHARACTERS = 60
_MAX_FAILURES = 3
_MAX_CAVEAT_CHARACTERS = 300
_MAX_REASONS = 3
_MAX_LOG_CHARACTERS = 3_000
_MAX_EXPLANATIONS = 5
_MAX_MESSAGE_CHARACTERS = 300
_LINE_BREAK_BYTES = 2
"""Room for the empty line below a table."""
_TABLE_HEAD = (
    "| case | metric | base | head | change | noise | verdict |\n| :--- | :--- | ---: | ---: | ---: | :--- | :--- |\n"
)
_FOLDED_SECTION = "<details><summary>{}</summary>\n\n", "\n</details>\n"


def build_marker(repository: str, pull_request: int) -> str:
    """Return the invisible marker by which the comment of a pull request is found again."""
    return f"<!-- faultwatch gate {repository.lower()}#{pull_request} -->"


def build_comment(outcome: GateOutcome, links: Links, final_line: str = "", max_bytes: int = MAX_COMMENT_BYTES) -> str:
    """Return the comment.

    Parameters
    ----------
    outcome
        The outcome of the gate.
    links
        Links to more details.
    final_line
        The final line, such as a marker.
    max_bytes
        The largest size of the comment, in bytes.
    """
    explanations = describe_explanations(outcome, format_code)
    # The runner's explanation, or else the place that the profiles show.
    reasons = [sentence for _case, sentence in explanations[:1]] or [
        place for place in map(case_diagnosis.describe_place_of_growth, outcome.diagnoses[:1]) if place
    ]
    first_explanation = "".join(f" {reason}" for reason in reasons)
    # In the order of the comment. Who reads only the first lines learns what got worse, why, and how to accept it.
    sections_before_table = [
        f"**{describe_gate_verdict(outcome, format_code)}**{first_explanation}\n\n",
        offer_acceptance(outcome, links),
        _describe_caveat(outcome),
        _describe_judge(outcome),
        _describe_clear_moves(outcome.cases),
        _describe_failures(outcome.cases),
    ]
    sections_after_table = [
        offer_bisect(outcome, links),
        _format_explanations(explanations[1:_MAX_EXPLANATIONS]),
        case_diagnosis.format_case_diagnoses(outcome.diagnoses),
        _describe_missing_values(outcome.metrics),
        _describe_same_bytes(outcome),
        _describe_stored_bases(outcome.cases),
        _describe_environments(outcome.cases),
        suggest_commands(outcome),
        explain_faults(outcome, links),
        format_last_line(outcome, links),
        f"{final_line}\n" if final_line else "",
    ]
    before_table, after_table = "".join(sections_before_table), "".join(sections_after_table)
    remaining_bytes = max_bytes - _count_bytes(before_table) - _count_bytes(after_table)
    return f"{before_table}{_build_table(outcome.metrics, remaining_bytes)}{after_table}"


def build_summary(outcome: GateOutcome, links: Links, max_bytes: int) -> str:
    """Return the comment without the verdict, for check runs, which have the verdict in their title."""
    verdict = f"**{describe_gate_verdict(outcome, format_code)}**"
    return (
        build_comment(outcome, links, max_bytes=max_bytes).removeprefix(verdict).lstrip() or "Nothing was measured.\n"
    )


def _describe_caveat(outcome: GateOutcome) -> str:
    """Return the caveat about the numbers in the workload file; empty if there is none."""
    caveat = outcome.report.caveat
    return f"⚠ Workload caveat: {format_code(caveat, _MAX_CAVEAT_CHARACTERS)}\n\n" if caveat else ""


def _format_explanations(explanations: Sequence[tuple[str, str]]) -> str:
    """Return a list of explanations, each with its case; empty if there are none."""
    items = [f"- {format_code(case)}: {sentence}\n" for case, sentence in explanations]
    return f"{''.join(items)}\n" if items else ""


def _describe_judge(outcome: GateOutcome) -> str:
    """Return the paragraph about head's changes to how it is judged; empty if there are none."""
    sentence = describe_judge(outcome, format_code)
    return f"{'⚠ ' if outcome.changes_to_accept else ''}{sentence}\n\n" if sentence else ""


def _describe_clear_moves(cases: Sequence[CaseOutcome]) -> str:
    """Return one paragraph for each case with metrics that clearly changed, but are not judged."""
    all_paragraphs = []
    for case in cases:
        metrics = case.comparison.metrics if case.comparison is not None else ()
        sentence = metric_verdict_text.describe_clear_moves(metrics, format_code)
        if sentence:
            name = f"{format_code(case.name)}: " if len(cases) > 1 else ""
            all_paragraphs.append(f"{name}{sentence}\n\n")
    paragraphs = all_paragraphs[:_MAX_REASONS]
    n_more = len(all_paragraphs) - len(paragraphs)
    if n_more:
        paragraphs.append(f"… and {format_count(n_more, 'more case')} with metrics that clearly changed.\n\n")
    return "".join(paragraphs)


def _build_table(rows: Sequence[MetricOutcome], max_bytes: int) -> str:
    """Return the table of metrics, in which rows that need no attention are folded."""
    visible_rows = [_build_row(row) for row in rows if not row.settled]
    folded_rows = [_build_row(row) for row in rows if row.settled]
    if not folded_rows:
        return _fit_table_into_limit(visible_rows, max_bytes)
    section_start, section_end = _FOLDED_SECTION
    section_start = section_start.format(
        f"{format_count(len(folded_rows), 'more row' if visible_rows else 'row')}: unchanged, or not judged"
    )
    section_bytes = _count_bytes(section_start) + _count_bytes(section_end)
    # The visible rows come first, but leave room for the line that counts the folded rows.
    table = _fit_table_into_limit(
        visible_rows, max_bytes - section_bytes - _count_bytes(_describe_left_out(len(folded_rows)))
    )
    folded_table = _fit_table_into_limit(folded_rows, max_bytes - _count_bytes(table) - section_bytes)
    return f"{table}{section_start}{folded_table}{section_end}\n" if folded_table else table


def _fit_table_into_limit(lines: Sequence[str], max_bytes: int) -> str:
    """Return a table with the rows that fit, and a line with the number of rows that do not."""
    remaining_bytes = max_bytes - _count_bytes(_TABLE_HEAD) - _count_bytes(_describe_left_out(len(lines)))
    remaining_bytes -= _LINE_BREAK_BYTES
    n_lines = 0
    for line in lines:
        remaining_bytes -= _count_bytes(line)
        if remaining_bytes < 0:
            break
        n_lines += 1
    if not n_lines:
        return _describe_left_out(len(lines)) if _count_bytes(_describe_left_out(len(lines))) <= max_bytes else ""
    return f"{_TABLE_HEAD}{''.join(lines[:n_lines])}\n{_describe_left_out(len(lines) - n_lines)}"


def _describe_left_out(n_left_out: int) -> str:
    return f"… and {format_count(n_left_out, 'more row')}.\n\n" if n_left_out else ""


def _build_row(row: MetricOutcome) -> str:
    """Return the table row of one metric."""
    verdict = row.metric_verdict
    levels = _format_level(verdict, verdict.base), _format_level(verdict, verdict.head)
    cells = (
        format_code(row.case),
        format_metric_name(verdict, format_code),
        *levels,
        _format_change(verdict),
        _format_noise(verdict),
        _format_verdict(row),
    )
    return f"| {' | '.join(cells)} |\n"


def _format_level(verdict: MetricVerdict, side: Side) -> str:
    return "–" if side.level is None else format_quantity(side.level, get_metric(verdict.metric).unit)


def _format_change(verdict: MetricVerdict) -> str:
    """Return the change; for a judged noisy metric, with its confidence interval.

    An interval from 0 to 0 would say no more than "0".
    """
    text = format_change(verdict)
    if verdict.bounds is None or not verdict.counts or not any(verdict.bounds):
        return text
    return f"{text}, {describe_bounds(verdict.bounds)}"


def _format_noise(verdict: MetricVerdict) -> str:
    """Return the range of each side's samples, or how many samples of an exact count disagree."""
    sides = [side for side in (verdict.base, verdict.head) if side.level is not None]
    if verdict.changed_pairs is not None:  # Only some pairs of runs show the change.
        return "intermittent"
    if verdict.rule == "exact":
        n_at_level, n_samples = sum(side.n_at_level for side in sides), sum(side.n for side in sides)
        n_outliers = n_samples - n_at_level
        return f"{format_count(n_outliers, 'outlier')} in {n_samples} samples" if n_outliers else "none"
    if len(sides) < 2:
        return "–"
    if all(side.n_at_level == side.n for side in sides):
        return "none"
    return f"base {_format_span(verdict, verdict.base)}, head {_format_span(verdict, verdict.head)}"


def _format_span(verdict: MetricVerdict, side: Side) -> str:
    """Return the lowest and the highest sample of a side."""
    unit, low, high = get_metric(verdict.metric).unit, side.low or 0, side.high or 0
    return format_quantity(low, unit) if low == high else format_range(low, high, unit)


def _format_verdict(row: MetricOutcome) -> str:
    """Return the verdict on a metric in words, in bold if it needs attention."""
    is_gradual = row.gradual_change is not None
    words = metric_verdict_text.describe_verdict(
        row.metric_verdict, is_gradual=is_gradual, since=describe_baseline_change(row)
    )
    is_prominent = metric_verdict_text.is_prominent(row.metric_verdict, is_gradual=is_gradual)
    return re.sub(r"^\w+", r"**\g<0>**", words) if is_prominent else words


def _describe_failures(cases: Iterable[CaseOutcome]) -> str:
    """Return the cases that could not be measured, with the ends of their logs."""
    failures = [(case, side, failure) for case in cases for side, failure in case.failures]
    parts = []
    for case, side, failure in failures[:_MAX_FAILURES]:
        message = format_code(failure.message, _MAX_MESSAGE_CHARACTERS)
        parts.append(f"{format_code(case.name)}, {side}, {failure.stage.noun}: {message}\n\n")
        if failure.log.strip():
            section_start, section_end = _FOLDED_SECTION
            log = format_block(failure.log, _MAX_LOG_CHARACTERS)
            parts.append(f"{section_start.format('End of the log')}{log}\n{section_end}\n")
    if len(failures) > _MAX_FAILURES:
        n_more = len(failures) - _MAX_FAILURES
        parts.append(f"… and {format_count(n_more, 'more failure')}.\n\n")
    return "".join(parts)


def _describe_missing_values(rows: Iterable[MetricOutcome]) -> str:
    """Return each reason for missing values once, with the metrics and cases that it affects."""
    reasons: dict[str, list[MetricOutcome]] = {}
    for row in rows:
        if metric_verdict_text.lacks_side(row.metric_verdict):
            reasons.setdefault(row.metric_verdict.sentence, []).append(row)
    parts = []
    for sentence, rows_of_reason in list(reasons.items())[:_MAX_REASONS]:
        metrics, cases = describe_rows(rows_of_reason, format_code)
        parts.append(
            f"{capitalize_first_letter(metrics)} in {cases}: {format_code(sentence, _MAX_MESSAGE_CHARACTERS)}\n\n"
        )
    if len(reasons) > _MAX_REASONS:
        n_more = len(reasons) - _MAX_REASONS
        parts.append(f"… and {format_count(n_more, 'more reason')} why a side has no value.\n\n")
    return "".join(parts)


def _describe_same_bytes(outcome: GateOutcome) -> str:
    """Return in how many cases base and head have the same bytes; empty if all have, as the verdict says that."""
    comparisons = [case.comparison for case in outcome.cases if case.comparison is not None]
    n_same = sum(comparison.same_bytes and comparison.verdict is Verdict.SAME for comparison in comparisons)
    if not n_same or outcome.same_bytes:
        return ""
    cases = f"{n_same} of {len(outcome.cases)} cases" if len(outcome.cases) > 1 else "the only case"
    return f"Base and head are byte-identical in {cases}, so their counts are the same.\n\n"


def _describe_stored_bases(cases: Sequence[CaseOutcome]) -> str:
    """Return a sentence about the cases for which a stored run serves as base."""
    n_stored = sum(case.case.base_stored for case in cases)
    if not n_stored:
        return ""
    base = "The base" if n_stored == len(cases) else f"In {n_stored} of {len(cases)} cases, the base"
    return f"{base} was not measured again: a stored run in the same environment was used instead.\n\n"


def _describe_environments(cases: Iterable[CaseOutcome]) -> str:
    """Return a table of the settings that differ between base and head; empty without differences, as is normal."""
    differences: list[tuple[str, str, str]] = []
    for case in cases:
        base, head = case.case.base.environment.settings, case.case.head.environment.settings
        names = case.comparison.settings if case.comparison else ()
        differences += [(name, base.get(name, ""), head.get(name, "")) for name in names]
    settings = list(dict.fromkeys(differences))  # Most cases differ in the same settings: each is listed once.
    if not settings:
        return ""
    cells = [[format_code(cell, _MAX_SETTING_CHARACTERS) for cell in setting] for setting in settings[:_MAX_SETTINGS]]
    rows = [f"| {' | '.join(row)} |\n" for row in cells]
    further_rows = _describe_left_out(len(settings) - _MAX_SETTINGS) if len(settings) > _MAX_SETTINGS else ""
    heading = "| setting | base | head |\n| :--- | :--- | :--- |\n"
    return f"The environments of base and head differ:\n\n{heading}{''.join(rows)}\n{further_rows}"


def _count_bytes(part: str) -> int:
    return len(part.encode())
