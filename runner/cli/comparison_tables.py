"""Comparisons as tables on a terminal."""

import re
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from runner.cli.console import make_console
from runner.cli.formatting import escape_text as escape
from runner.cli.formatting import format_percent, format_value, format_value_range, has_own_unit
from runner.cli.next_command import TypedTarget
from runner.contract.comparison import MetricVerdict, Side, Verdict
from runner.contract.explanation_text import describe_explanation
from runner.contract.level import Number
from runner.contract.metric_verdict_text import describe_clear_moves, describe_verdict, is_prominent, lacks_side
from runner.contract.metrics import get_metric
from runner.contract.number_text import format_count
from runner.contract.word_list import join_words
from runner.measuring.comparison import ComparisonResult

LOG_LINES = 20
"""How many last lines of the log of a failed side are shown: compilers and programs report the fatal error last."""
_MAX_WIDTH = 1000
"""A width in characters in which nothing is wrapped."""
_MAX_NAME_WIDTH = 20
"""The widest name of a metric, in characters, that is never broken: the rest of a line of 80 suffices for numbers."""
_LABELS = {Verdict.SAME: "same", Verdict.CHANGED: "[bold]changed[/]", Verdict.NEEDS_MORE_RUNS: "not decided"}


def show_comparison(result: ComparisonResult, target: TypedTarget | None) -> None:
    """Print the verdict on a case, and one row for each metric; decisive metrics come first.

    If a metric got worse, the command that profiles both sides follows.

    Parameters
    ----------
    target
        The target that the command was called with; None if no other command can name both sides.
    """
    # Print the title or, without a comparison, why there is none.
    console = make_console()
    title = f"{result.base.subject}: {result.base.revision.commit[:10]} → {result.head.revision.commit[:10]}"
    console.print(f"[bold]{escape(result.base.case.name)}[/]  {escape(title)}", highlight=False)
    if result.comparison is None:
        for side, report in (("base", result.base), ("head", result.head)):
            if report.failure:
                console.print(f"  [yellow]{side}: {escape(report.failure.message)}[/]", highlight=False)
                print_log_tail(console, report.failure.log)
        return
    # Print the explanation, if one was requested; the verdict; and the settings that differ.
    if result.explanation is not None:
        explanation_text = describe_explanation(result.explanation, str)  # escaped below, as a whole
        if explanation_text:
            console.print(f"  {escape(explanation_text)}", highlight=False, soft_wrap=not console.is_terminal)
    comparison = result.comparison
    are_same = comparison.same_bytes and comparison.verdict is Verdict.SAME
    reason = ": same bytes" if are_same else ""
    pairs = format_count(len(result.head.samples), "pair" if not result.base_stored else "sample")
    console.print(f"{_LABELS[comparison.verdict]} after {pairs}{reason}", highlight=False)
    if comparison.settings:
        console.print(
            f"[yellow]the environments differ in {escape(join_words(comparison.settings))}[/]", highlight=False
        )
    # Print the table of the metrics; those that are zero on both sides share one line.
    metrics_shown = [
        metric_verdict for metric_verdict in comparison.metrics if metric_verdict.counts or not _is_zero(metric_verdict)
    ]
    table = _build_table(metrics_shown)
    is_too_wide = console.measure(table, options=console.options.update(width=_MAX_WIDTH)).maximum > console.width
    console.print(_build_table(metrics_shown, separator="\n") if is_too_wide else table)
    zero_metrics = [
        escape(metric_verdict.metric) for metric_verdict in comparison.metrics if metric_verdict not in metrics_shown
    ]
    if zero_metrics:
        console.print(f"0 on both sides: {', '.join(zero_metrics)}", style="dim", highlight=False)
    # Print the remarks, wrapped at words on a terminal, and the command that explains a regression, unwrapped for
    # copying.
    is_in_one_line = not console.is_terminal
    for sentence, names in _list_sentences(comparison.metrics).items():
        console.print(f"  {escape(', '.join(names))}: {escape(sentence)}", highlight=False, soft_wrap=is_in_one_line)
    if moves := describe_clear_moves(comparison.metrics):
        console.print(f"  [yellow]{escape(moves)}[/]", highlight=False, soft_wrap=is_in_one_line)
    for line in _describe_untraced_sides(result):
        console.print(f"  [yellow]{escape(line)}[/]", highlight=False, soft_wrap=is_in_one_line)
    if target and any(verdict.counts and verdict.direction == "regression" for verdict in comparison.metrics):
        commit_range = f"{result.base.revision.commit[:10]}..{result.head.revision.commit[:10]}"
        command = target.suggest("profile", commit_range, result.head.case.name)
        console.print(f"  `{escape(command)}` shows where the change comes from", highlight=False, soft_wrap=True)


def _describe_untraced_sides(result: ComparisonResult) -> list[str]:
    """Return a remark on the sides whose mapped files were not prepared because no execution could be traced."""
    sides = [side for side, report in (("base", result.base), ("head", result.head)) if not report.files]
    if not sides:
        return []
    return [
        f"{' and '.join(sides)}: Faultwatch could not trace any execution, so it did not prepare the page cache of the "
        f"mapped files. This may cause small differences."
    ]


def print_log_tail(console: Console, log: str) -> None:
    """Print the last lines of a log; nothing if it is empty."""
    lines = log.rstrip().splitlines()[-LOG_LINES:]
    if lines:
        last_lines = "last line" if len(lines) == 1 else f"last {len(lines)} lines"
        console.print(f"    the {last_lines} of the log:", style="dim", highlight=False)
    for line in lines:
        console.print(f"    {escape(line)}", style="dim", highlight=False, soft_wrap=True)


def _list_sentences(metrics: Sequence[MetricVerdict]) -> dict[str, list[str]]:
    """Return the distinct explanations of verdicts, each with the metrics that it is about."""
    metrics_by_sentence: dict[str, list[str]] = {}
    for metric_verdict in metrics:
        if metric_verdict.counts or lacks_side(metric_verdict):
            metrics_by_sentence.setdefault(metric_verdict.sentence, []).append(metric_verdict.metric)
    return metrics_by_sentence


def _is_zero(metric_verdict: MetricVerdict) -> bool:
    return all(side.level == side.low == side.high == 0 for side in (metric_verdict.base, metric_verdict.head))


def _build_table(metrics: Sequence[MetricVerdict], separator: str = " ") -> Table:
    """Return the table of a comparison: a row for each metric, those that count first.

    Parameters
    ----------
    separator
        The text between a number and its explanation. On a narrow terminal it is a line break, because lines would
        otherwise be broken within names and numbers.
    """
    table = Table(box=box.SIMPLE_HEAD)
    # Verdicts can be broken at spaces, names cannot.
    name_width = min(max((len(metric_verdict.metric) for metric_verdict in metrics), default=0), _MAX_NAME_WIDTH)
    table.add_column("metric", overflow="fold", min_width=name_width)
    for heading in ("base", "head", "change"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for metric_verdict in sorted(metrics, key=lambda metric_verdict: not metric_verdict.counts):
        style = None if metric_verdict.counts else "dim"
        table.add_row(
            _name_metric(metric_verdict.metric, separator),
            _format_side(metric_verdict.metric, metric_verdict.base, separator),
            _format_side(metric_verdict.metric, metric_verdict.head, separator),
            _format_change(metric_verdict, separator),
            _format_verdict(metric_verdict),
            style=style,
        )
    return table


def _format_verdict(metric_verdict: MetricVerdict) -> str:
    verdict_text = escape(describe_verdict(metric_verdict))
    moved = metric_verdict.counts and metric_verdict.verdict is Verdict.CHANGED
    return f"[bold]{verdict_text}[/]" if moved or is_prominent(metric_verdict) else verdict_text


def _name_metric(name: str, separator: str) -> str:
    """Return the name of a metric with its unit, unless the name or the values contain the unit."""
    unit = get_metric(name).unit
    if has_own_unit(name) or unit in re.split("[-:]", name):
        return escape(name)
    return f"{escape(name)}{separator}[dim]{escape(unit)}[/]"


def _format_side(name: str, side: Side, separator: str) -> str:
    """Format a level, and the range of its samples if they differ."""
    level = _format_number(name, side.level)
    if side.low is None or side.high is None or side.low == side.high:
        return level
    value_range = format_value_range(name, side.low, side.high).replace(" – ", f" –{separator}")
    return f"{level}{separator}[{value_range}]"


def _format_number(name: str, value: Number | None) -> str:
    return "–" if value is None else format_value(name, value)


def _format_change(metric_verdict: MetricVerdict, separator: str) -> str:
    """Return a change in the unit of its metric and in percent; for an intermittent one, also the number of pairs."""
    if metric_verdict.change is None:
        return "–"
    parts = [format_value(metric_verdict.metric, metric_verdict.change, sign=True)]
    if metric_verdict.percent is not None and metric_verdict.change:
        parts.append(f"({format_percent(metric_verdict.percent)})")
    if metric_verdict.changed_pairs is not None:
        parts.append(f"in {metric_verdict.changed_pairs} of {metric_verdict.head.n}")
    return separator.join(parts)
