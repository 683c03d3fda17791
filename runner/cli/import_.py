"""``faultwatch import``: measurements that others made, into the same series."""

import json
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.options import json_option, options
from runner.cli.terminal import activity
from runner.contract.report import Report, Revision
from runner.errors import FaultwatchError
from runner.reporting.client import Service
from runner.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 500
"""Reports sent at once: about a megabyte, stored within seconds."""


@click.command(name="import")
@options(
    click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path)),
    click.option("--subject", default="", help="The repository that was measured, by name."),
    click.option("--revision", default="", help="What was measured, where a file does not say it."),
    click.option("--case", default="", help="What was run, where a file does not say it."),
    click.option("--host", default="", help="Where it was run. Default: what a file says, else this host."),
    click.option("--started-at", default="", metavar="TIME", help="When it was run, where a file does not say it."),
    click.option("--columns", default="", metavar="NAME=COLUMN,…", help="What the columns of a CSV file are."),
    click.option("--repo", default="", metavar="PATH|URL", help="The repository, to put revisions into its order."),
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
    """Store pyperf suites, the output of `perf stat`, or a CSV file with --columns, as runs like any other.

    The same file may be imported again: each run is stored once. A file is imported whole or not at all. Without
    --repo, revisions stand in the order in which they were first measured. docs/pyperf.md tells more.
    """
    from runner.importing import ImportDefaults, make_reports, read
    from runner.importing.csv_columns import parse_map
    from runner.importing.imported_run import parse_time
    from runner.reporting.embedded import connect

    settings = load_settings()
    mapped = parse_map(columns)
    when: datetime | None = parse_time(started_at, "--started-at") if started_at else None
    known, repository = _repository(repo, settings)
    defaults = ImportDefaults(subject or repository, host, revision, case, when, mapped)
    records = [record for file in files for record in read(file, defaults)]
    if not any(record.host for record in records) and not host:
        defaults = ImportDefaults(subject or repository, settings.host, revision, case, when, mapped)
    made = make_reports(records, defaults, known)
    with connect(settings) as service:
        document = _send(service, made, len(records))
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    click.echo(
        f"{document['runs']} runs from {document['records']} records: {document['created']} stored, "
        f"{document['known']} known before, in {document['seconds']:.1f} s"
    )
    if document["conflicting"]:
        click.echo(f"{document['conflicting']} were left out: their runs are stored with other details")


def _repository(location: str, settings: Settings) -> "tuple[Callable[[str], Revision | None], str]":
    """Return how to look a revision up, and the repository's name."""
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


def _send(service: Service, made: list[Report], records: int) -> dict[str, float]:
    """Send the commits first, so that they are put in order once, then the reports."""
    start = time.monotonic()
    by_subject: dict[str, dict[str, Revision]] = {}
    for report in made:
        by_subject.setdefault(report.subject, {})[report.revision.commit] = report.revision
    for subject, revisions in by_subject.items():
        service.send_revisions(subject, list(revisions.values()))
    created = known = conflicting = 0
    with activity("storing") as say:
        for first in range(0, len(made), BATCH):
            say(f"storing runs: {first:,} of {len(made):,}")
            receipts = service.send_reports(made[first : first + BATCH])
            created += receipts.created
            known += receipts.known
            conflicting += len(receipts.conflicting)
    return {
        "records": records,
        "runs": len(made),
        "created": created,
        "known": known,
        "conflicting": conflicting,
        "seconds": round(time.monotonic() - start, 3),
    }
