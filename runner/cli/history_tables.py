"""Results as tables on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from runner.campaigns.history_measurement import Summary
from runner.cli.formatting import counted, plain
from runner.contract.metrics import Kind, metric

_SIGNS = {"regression": "▲ regression", "improvement": "▼ improvement"}


def show_history(summary: Summary, drifts: Sequence[dict[str, Any]]) -> None:
    """Print what came of a history, and the drifts that the service sees."""
    console = Console()
    console.print(
        f"{counted(summary.revisions, 'revision')}: {summary.measured} measured, {summary.stored} stored before, "
        f"{len(summary.failed)} failed."
    )
    if summary.refused:
        console.print(
            f"[yellow]The service refused {counted(summary.refused, 'report')}: `faultwatch spool` says why.[/]"
        )
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
            soft_wrap=True,
        )
        title = plain(drift["title"])
        console.print(f"  {drift['cause']}  {drift['revision'][:10]} {title}", highlight=False, soft_wrap=True)
        for knob in drift["knobs"]:
            change = f"{knob['before'] or 'not set'} → {knob['after'] or 'not set'}"
            console.print(f"    {plain(knob['name'])}: {plain(change)}", highlight=False, soft_wrap=True)


def number(name: str, value: float, *, sign: bool = False) -> str:
    """Format a value of a metric: counts in full with separators, the rest to four digits."""
    form = "+" if sign else ""
    if metric(name).kind is Kind.COUNT and value == int(value):
        return f"{int(value):{form},}"
    return f"{value:{form},.4g}" if abs(value) < 10_000 else f"{value:{form},.0f}"
