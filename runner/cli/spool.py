"""``faultwatch spool``: show or send the reports that the service has not received yet."""

from pathlib import Path
from typing import Any

import click

from runner.cli.options import apply_options, json_option
from runner.cli.result_output import print_json
from runner.reporting.outbox import Outbox
from runner.reporting.spool import Spool, read_document
from runner.settings import Settings, load_settings


@click.command(name="spool")
@apply_options(click.option("--flush", is_flag=True, help="Send the waiting reports."), json_option)
def command(flush: bool, as_json: bool) -> None:
    """Show the reports that are waiting on disk, and those that the service refused, with the reasons.

    Every `history` also sends the waiting reports. A refused report is stored as RUN.refused; rename it to RUN.json to
    send it again. Exit code of --flush: 1 if a report is still waiting or was refused.
    """
    settings = load_settings()
    spool = Spool(settings.spool)
    problem, has_refused = "", False
    if flush and spool.list_waiting_reports():
        problem, has_refused = _flush_spool(settings, spool)
    waiting_documents = [_summarise_document(file) for file in spool.list_waiting_reports()]
    refused_documents = [
        _summarise_document(file) | {"reason": reason} for file, reason in spool.list_refused_reports()
    ]
    if as_json:
        document: dict[str, Any] = {
            "folder": str(spool.folder),
            "waiting": waiting_documents,
            "refused": refused_documents,
        }
        print_json(document | {"trouble": problem})
    else:
        _print_documents(spool.folder, waiting_documents, refused_documents, problem)
    if flush and (waiting_documents or has_refused):
        raise click.exceptions.Exit(1)


def _flush_spool(settings: Settings, spool: Spool) -> tuple[str, bool]:
    """Send the waiting reports; return the problem, if any, and whether the service refused one."""
    from runner.reporting.embedded_service import connect_to_service

    with connect_to_service(settings) as service:
        outbox = Outbox(spool, service.send)
        outbox.deliver()
    return (outbox.error.what if outbox.error else ""), bool(outbox.refused)


def _summarise_document(file: Path) -> dict[str, Any]:
    """Return the entry of a spooled file in a list; only its name if it is unreadable."""
    try:
        document = read_document(file)
    except (OSError, ValueError):
        return {"file": file.name}
    return {
        "file": file.name,
        "subject": document.subject,
        "revision": document.revision.commit,
        "case": document.case.name,
        "started_at": document.started_at.isoformat(),
    }


def _print_documents(
    folder: Path, waiting_documents: list[dict[str, Any]], refused_documents: list[dict[str, Any]], problem: str
) -> None:
    """Print the reports that wait in the spool, and those that the service refused with the reasons.

    Parameters
    ----------
    problem
        Why the waiting reports could not be sent; empty if there is no problem.
    """
    from runner.cli.console import make_console
    from runner.cli.formatting import escape_text

    console = make_console(highlight=False)
    console.print(
        f"Reports in {escape_text(str(folder))}: {len(waiting_documents)} waiting, {len(refused_documents)} refused"
    )
    for entry in waiting_documents + refused_documents:
        console.print(f"  {escape_text(_format_entry(entry))}")
        if "reason" in entry:
            console.print(f"    [yellow]refused: {escape_text(entry['reason'])}[/]")
    if problem:
        console.print(f"[yellow]{escape_text(problem)}[/]")


def _format_entry(entry: dict[str, Any]) -> str:
    if "case" not in entry:
        return f"{entry['file']}: this version cannot read it"
    return f"{entry['started_at']}  {entry['subject']}  {entry['revision'][:10]}  {entry['case']}  {entry['file']}"
