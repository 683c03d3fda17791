"""The results of the checks as a table on a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from runner.cli.console import make_console
from runner.doctor.result import Check, CheckStatus

_STYLES = {
    CheckStatus.OK: "green",
    CheckStatus.WARNING: "yellow",
    CheckStatus.PROBLEM: "bold red",
    CheckStatus.UNKNOWN: "cyan",
}


def show_checks(checks: list[Check], measurable: bool, console: Console | None = None) -> None:
    """Print a table with each remedy below its finding, and a summary line.

    The status is a word, so nothing is lost without colours.
    """
    console = console or make_console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("Status", no_wrap=True)
    table.add_column("Check", no_wrap=True)
    table.add_column("Finding", overflow="fold")
    for check in checks:
        remedy = f"\n→ {escape(check.remedy)}" if check.remedy else ""
        table.add_row(f"[{_STYLES[check.status]}]{check.status}[/]", check.name, escape(check.finding) + remedy)
    console.print(table)
    counts = {status: sum(check.status is status for check in checks) for status in CheckStatus}
    problems, warnings = counts[CheckStatus.PROBLEM], counts[CheckStatus.WARNING]
    verdict = "This host can measure" if measurable else "This host cannot measure correctly yet"
    console.print(f"\n[bold]{verdict}[/]: {_format_count(problems, 'problem')}, {_format_count(warnings, 'warning')}.")


def _format_count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
