"""``faultwatch import``: store measurements of other tools."""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.activity import activity
from runner.cli.options import json_option, options
from runner.contract.report import Report, Revision
from runner.errors import FaultwatchError
from runner.reporting.client import Service
from runner.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 500
"""Reports in one request: about a megabyte, stored within seconds."""


@click.command(name="import")
@options(
    click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path)),
    click.option("--subject", default="", help="The repository that was measured, by name."),
    click.option("--revision", default="", help="The revision, if a file does not name it."),
    click.option("--case", default="", help="The case, if a file does not name it."),
    click.option("--host", default="", help="The host. Default: as a file says, else this host."),
    click.option("--started-at", default="", metavar="TIME", help="The time of the run, if a file does not say it."),
    click.option("--columns", default="", metavar="NAME=COLUMN,…", help="The meaning of the columns of a CSV file."),
    click.option(
        "--repo", default="", metavar="PATH|URL", help="The repository that determines the order of the revisions."
    ),
    json_option,
)
def command(
    files: tuple[Path, ...],
    subject: str,
    revision: str,
    case: str,
    host: str,
    started_at: str,
    columns: str,
    repo: str,
    as_json: bool,
) -> None:
    """Store pyperf suites, the output of `perf stat`, or a CSV file with --columns, as runs.

    The same file may be imported again: each run is stored once. A file is imported completely or not at all. Without
    --repo, revisions are in the order in which they were first measured. See docs/how-to/pyperf.md.
    """
    from runner.importing import ImportDefaults, make_reports, read
    from runner.importing.csv_columns import parse_map
    from runner.importing.imported_run import parse_time
    from runner.reporting.embedded import connect

    settings = load_settings()
    column_map = parse_map(columns)
    when: datetime | None = parse_time(started_at, "--started-at") if started_at else None
    look_up, repository = _repository(repo, settings)
    defaults = ImportDefaults(subject or repository, host, revision, case, when, column_map)
    records = [record for file in files for record in read(file, defaults)]
    if not any(record.host for record in records) and not host:
        defaults = ImportDefaults(subject or repository, settings.host, revision, case, when, column_map)
    reports = make_reports(records, defaults, look_up)
    with connect(settings) as service:
        document = _send(service, reports, len(records))
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(
        f"{document['runs']} runs from {document['records']} records: {document['created']} stored, "
        f"{document['known']} already known, in {document['seconds']:.1f} s"
    )
    if document["conflicting"]:
        click.echo(f"{document['conflicting']} were not stored: other details of the same runs are stored already")


def _repository(location: str, settings: Settings) -> "tuple[Callable[[str], Revision | None], str]":
    """Return a function that looks up a revision, and the repository's name."""
    if not location:
        return lambda _: None, ""
    from runner.subject.repository import open_repository

    repository = open_repository(location, settings.clones)

    def look_up(name: str) -> Revision | None:
        try:
            return repository.revision(name)
        except FaultwatchError:
            return None

    return look_up, repository.name


def _send(service: Service, reports: list[Report], records: int) -> dict[str, float]:
    """Send the commits, so that they are ordered only once, then the reports."""
    start = time.monotonic()
    by_subject: dict[str, dict[str, Revision]] = {}
    for report in reports:
        by_subject.setdefault(report.subject, {})[report.revision.commit] = report.revision
    for subject, revisions in by_subject.items():
        service.send_revisions(subject, list(revisions.values()))
    created = known = conflicting = 0
    with activity("storing runs") as shown:
        shown.remain(len(reports))
        for first in range(0, len(reports), BATCH):
            batch = reports[first : first + BATCH]
            receipts = service.send_reports(batch)
            shown.advance(len(batch))
            created += receipts.created
            known += receipts.known
            conflicting += len(receipts.conflicting)
    return {
        "records": records,
        "runs": len(reports),
        "created": created,
        "known": known,
        "conflicting": conflicting,
        "seconds": round(time.monotonic() - start, 3),
    }
