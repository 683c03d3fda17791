"""Results as tables on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from runner.cli.text import plain
from runner.contract.metrics import Kind, metric
from runner.contract.report import Report, Status
from runner.history import Summary

_SIGNS = {"regression": "▲ regression", "improvement": "▼ improvement"}


def show_history(summary: Summary, drifts: Sequence[dict[str, Any]]) -> None:
    """Print what came of a history, and the drifts that the service sees."""
    console = Console()
    console.print(
        f"{summary.revisions} revisions: {summary.measured} measured, {summary.stored} stored before, "
        f"{len(summary.failed)} failed."
    )
    if summary.refused:
        console.print(f"[yellow]The service refused {summary.refused} reports: `faultwatch spool` says why.[/]")
    if summary.waiting:
        why = f": {plain(summary.trouble.what)}" if summary.trouble else ""
        console.print(
            f"[yellow]{summary.waiting} reports wait on disk{why}.[/]\nThe next command that reaches the service sends "
            "them, or `faultwatch spool --flush`."
        )
        return
    show_drifts(console, drifts)


def show_drifts(console: Console, drifts: Sequence[dict[str, Any]]) -> None:
    """Print drifts, newest first."""
    if not drifts:
        console.print("No drift.")
        return
    for drift in drifts:
        name, before, after = drift["metric"], drift["before"], drift["after"]
        # No percentage of a zero baseline: there is none.
        percent = f", {100 * (after - before) / before:+,.4g} %" if before else ""
        console.print(
            f"[bold]{_SIGNS[drift['direction']]} {plain(name)}[/] {number(name, before)} → {number(name, after)} "
            f"({number(name, after - before, sign=True)}{percent})  {plain(drift['case'])}",
            highlight=False,
        )
        console.print(f"  {drift['cause']}  {drift['revision'][:10]} {plain(drift['title'])}", highlight=False)
        for knob in drift["knobs"]:
            change = f"{knob['before'] or 'not set'} → {knob['after'] or 'not set'}"
            console.print(f"    {plain(knob['name'])}: {plain(change)}", highlight=False)


def show_reports(reports: Sequence[Report]) -> None:
    """Print one column a case and one row a metric."""
    console = Console()
    measured = [report for report in reports if report.samples]
    # As many cases side by side as there is room for: a metric and its unit take about 40 columns, a case 18.
    together = max(1, (console.width - 40) // 18)
    for start in range(0, len(measured), together):
        _show_cases(console, measured[start : start + together])
    for report in reports:
        if report.failure:
            console.print(f"[yellow]{plain(report.case.name)}: {plain(report.failure.message)}[/]")
            if report.failure.log:
                console.print(plain(report.failure.log[-2000:]), style="dim", highlight=False)


def _show_cases(console: Console, reports: Sequence[Report]) -> None:
    title = f"{reports[0].subject} at {reports[0].revision.commit[:10]}"
    table = Table(title=title)
    table.add_column("metric", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for report in reports:
        table.add_column(plain(report.case.name), justify="right", overflow="fold")
    for name in dict.fromkeys(name for report in reports for name in report.metrics):
        table.add_row(plain(name), metric(name).unit, *(_cell(report, name) for report in reports))
    console.print(table)


def _cell(report: Report, name: str) -> str:
    """Show a metric of a run: one value where all samples agree, the range otherwise, or why there is none."""
    values = report.values(name)
    readings = report.readings(name)
    if not values:
        return readings[0].status.replace("_", " ") if readings else "not measured"
    low, high = min(values), max(values)
    text = number(name, low) if low == high else f"{number(name, low)} – {number(name, high)}"
    estimated = any(reading.status is Status.MULTIPLEXED for reading in readings)
    return f"~{text}" if estimated else text


def number(name: str, value: float, *, sign: bool = False) -> str:
    """Format a value of a metric: counts in full with separators, the rest to four digits."""
    form = "+" if sign else ""
    if metric(name).kind is Kind.COUNT and value == int(value):
        return f"{int(value):{form},}"
    return f"{value:{form},.4g}" if abs(value) < 10_000 else f"{value:{form},.0f}"
