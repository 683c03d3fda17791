"""Comparisons as tables on a terminal."""

import re
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from runner.cli.formatting import count_of
from runner.cli.formatting import escape_text as escape
from runner.cli.history_tables import format_value
from runner.contract.comparison import MetricVerdict, Side, Verdict
from runner.contract.level import Number
from runner.contract.metrics import metric
from runner.measuring.comparison import Compared

_WORDS = {Verdict.SAME: "same", Verdict.CHANGED: "[bold]changed[/]", Verdict.NEEDS_MORE_RUNS: "needs more runs"}


def show_comparison(result: Compared) -> None:
    """Print the verdict about a case, and one row a metric; those that decide stand first."""
    console = Console()
    title = f"{result.base.subject}: {result.base.revision.commit[:10]} → {result.head.revision.commit[:10]}"
    console.print(f"[bold]{escape(result.base.case.name)}[/]  {escape(title)}", highlight=False)
    if result.comparison is None:
        for side, report in (("base", result.base), ("head", result.head)):
            if report.failure:
                console.print(f"  [yellow]{side}: {escape(report.failure.message)}[/]", highlight=False)
        return
    comparison = result.comparison
    console.print(f"{_WORDS[comparison.verdict]}, by {count_of(len(result.base.samples), 'pair')}", highlight=False)
    if comparison.knobs:
        console.print(f"[yellow]the environments differ in {escape(', '.join(comparison.knobs))}[/]", highlight=False)
    told = [one for one in comparison.metrics if one.counts or not _is_nothing(one)]
    console.print(_table(told))
    nothing = [escape(one.metric) for one in comparison.metrics if one not in told]
    if nothing:
        console.print(f"0 on both sides: {', '.join(nothing)}", style="dim", highlight=False, soft_wrap=True)
    for one in comparison.metrics:
        if one.counts:
            console.print(f"  {escape(one.metric)}: {escape(one.sentence)}", highlight=False, soft_wrap=True)


def _is_nothing(one: MetricVerdict) -> bool:
    return all(side.level == side.low == side.high == 0 for side in (one.base, one.head))


def _table(metrics: Sequence[MetricVerdict]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("metric", "base", "head", "change", "verdict"):
        table.add_column(heading, justify="left" if heading in {"metric", "verdict"} else "right", overflow="fold")
    for one in sorted(metrics, key=lambda one: not one.counts):
        style = None if one.counts else "dim"
        base, head = _side(one.metric, one.base), _side(one.metric, one.head)
        # Nobody asked for more runs on account of a metric that does not count.
        open_ = not one.counts and one.verdict is Verdict.NEEDS_MORE_RUNS
        table.add_row(_named(one.metric), base, head, _change(one), "–" if open_ else _WORDS[one.verdict], style=style)
    return table


def _named(name: str) -> str:
    """Return a metric with its unit, where the name does not say it."""
    unit = metric(name).unit
    return escape(name) if unit in re.split("[-:]", name) else f"{escape(name)} [dim]{escape(unit)}[/]"


def _side(name: str, side: Side) -> str:
    """Show a level, and between what its samples lie where they differ."""
    level = _number(name, side.level)
    return level if side.low == side.high else f"{level} [{_number(name, side.low)} – {_number(name, side.high)}]"


def _number(name: str, value: Number | None) -> str:
    return "–" if value is None else format_value(name, value)


def _change(one: MetricVerdict) -> str:
    if one.change is None:
        return "–"
    percent = "" if one.percent is None or not one.change else f" ({one.percent:+.3g} %)"
    return f"{format_value(one.metric, one.change, sign=True)}{percent}" + (
        f" {one.direction}" if one.direction else ""
    )
