"""The digest of a nightly run as tables on a terminal."""

from rich.table import Table

from runner.cli.console import make_console
from runner.cli.formatting import escape_text, format_value
from runner.contract.nightly import CaseState, NightlyDigest
from runner.nightly.digest import list_gaps


def show_digest(digest: NightlyDigest) -> None:
    """Print how many cases of each cell were measured, then what did not run, and the drifts."""
    console = make_console()
    console.print(f"[bold]{escape_text(digest.name)}[/]  {escape_text(digest.sentence)}", highlight=False)
    table = Table()
    for heading in ("host", "configuration", "workload", "measured", "attempts"):
        table.add_column(heading, overflow="fold")
    for cell in digest.cells:
        n_measured = sum(case.state is CaseState.MEASURED for case in cell.cases)
        share = f"{n_measured} of {len(cell.cases)}" if cell.carried_out and not cell.problem else "–"
        table.add_row(
            escape_text(cell.host),
            escape_text(cell.configuration),
            escape_text(cell.workload),
            share,
            str(cell.attempts),
        )
    console.print(table)
    for cell, reason in list_gaps(digest):
        cell_name = f"{cell.host} {cell.configuration} {cell.workload}"
        console.print(f"  [yellow]{escape_text(cell_name)}: {escape_text(reason)}[/]", highlight=False)
    for drift in digest.drifts:
        levels = f"{format_value(drift.metric, drift.before)} → {format_value(drift.metric, drift.after)}"
        cell_name = f"{drift.case} on {drift.host}, {drift.cause} {drift.blamed}"
        console.print(
            f"  {drift.direction} {escape_text(drift.metric)} {levels}  {escape_text(cell_name)}", highlight=False
        )
