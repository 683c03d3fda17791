"""``faultwatch import``: store measurements of other tools."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runner.cli.activity import show_activity
from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.cli.options import apply_options, json_option
from runner.cli.result_output import print_json
from runner.contract.report import Report, Revision
from runner.errors import FaultwatchError
from runner.reporting.client import Service
from runner.settings import Settings, load_settings

if TYPE_CHECKING:
    from runner.importing import ImportDefaults, ImportedRun
    from runner.importing.commit_finder import CommitFinder

REPORTS_PER_REQUEST = 500
"""The number of reports in one request: about a megabyte, which is stored within seconds."""
_MAX_LISTED_NAMES, _MAX_NAME_CHARACTERS = 5, 80


@click.command(name="import")
@apply_options(
    click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER…", type=click.Path(path_type=Path)),
    click.option("--subject", default="", metavar="NAME", help="The name of the repository that was measured."),
    click.option("--revision", default="", metavar="REV", help="The revision to use for files that do not name one."),
    click.option("--case", default="", metavar="NAME", help="The case to use for files that do not name one."),
    click.option(
        "--host",
        default="",
        metavar="HOST",
        help="The host of the measurements. Default: the host that the file names, or otherwise this host.",
    ),
    click.option(
        "--started-at", default="", metavar="TIME", help="The time of the run, for files that do not contain one."
    ),
    click.option(
        "--format", "format_name", default="", help="The format. Default: detected from the content.", metavar="FORMAT"
    ),
    click.option(
        "--better",
        multiple=True,
        metavar="METRIC=lower|higher",
        help="Which direction of a metric is an improvement, for files that do not state one. Repeatable.",
    ),
    click.option(
        "--columns",
        default="",
        metavar="NAME=COLUMN,…",
        help="What the columns of a CSV file contain: NAME is revision, case, started_at, host or subject, or the name "
        "of a metric or a setting.",
    ),
    click.option(
        "--repo",
        default="",
        metavar="PATH|URL",
        help="The repository whose history determines the order of the revisions.",
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
    format_name: str,
    better: tuple[str, ...],
    columns: str,
    repo: str,
    as_json: bool,
) -> None:
    """Store the results of other benchmark tools as runs, from a file or from all files below a folder.

    Reads Google Benchmark, hyperfine, pytest-benchmark, Criterion, Go benchmarks, JMH, github-action-benchmark, asv,
    LNT, pyperf, `perf stat`, the text of load generators, and CSV with --columns. The same file may be imported again:
    each run is stored once. A file or a folder is imported completely or not at all.
    See the guide “Importing the results of other tools”.
    """
    from runner.importing import ImportDefaults, make_reports
    from runner.importing.direction import parse_directions
    from runner.importing.formats.csv_columns import parse_column_map
    from runner.importing.imported_run import parse_time
    from runner.reporting.embedded_service import connect_to_service

    # Collect the defaults that the options give.
    settings = load_settings()
    commit_finder = _open_repository(repo, settings)
    defaults = ImportDefaults(
        subject=subject or commit_finder.repository_name,
        host=host,
        revision=revision,
        case=case,
        started_at=parse_time(started_at, "--started-at") if started_at else None,
        columns=parse_column_map(columns),
        this_host=settings.host,
        format=_check_format(format_name),
        better=parse_directions(better),
        find_commit=commit_finder.find,
    )
    # Read the files, and send the reports.
    imported_runs, omission_reasons = _read_files(files, defaults)
    reports = make_reports(imported_runs, defaults)
    unjudged_metrics = sorted({title for imported_run in imported_runs for title in imported_run.not_judged})
    with connect_to_service(settings) as service:
        document = _send_reports(service, reports, len(imported_runs), commit_finder)
    # Print the result.
    if as_json:
        print_json({**document, "left_out": omission_reasons, "not_judged": unjudged_metrics})
        return
    _print_summary(document, len(reports), len(imported_runs))
    if omission_reasons:
        click.echo(
            f"files skipped because they are unreadable or not in an accepted format: {_join_names(omission_reasons)}"
        )
    if unjudged_metrics:
        click.echo(
            "stored, but not judged, because nothing says which direction is an improvement: "
            f"{_join_names(unjudged_metrics)}; pass --better METRIC=lower or --better METRIC=higher"
        )


def _read_files(files: Sequence[Path], defaults: "ImportDefaults") -> "tuple[list[ImportedRun], list[str]]":
    """Read files and folders; return their runs, and why files of folders are left out."""
    from runner.importing import read_file, read_folder, refuse_too_many_runs

    imported_runs: list[ImportedRun] = []
    omission_reasons: list[str] = []
    with show_activity("reading") as activity:
        activity.set_remaining_steps(len(files))
        for file in files:
            activity(f"reading {file}")
            if file.is_dir():
                folder_runs = read_folder(file, defaults)
                imported_runs += folder_runs.runs
                omission_reasons += folder_runs.left_out
            else:
                imported_runs += read_file(file, defaults)
            refuse_too_many_runs(len(imported_runs), str(file))
            activity.advance()
    return imported_runs, omission_reasons


def _print_summary(document: Mapping[str, float], n_runs: int, n_records: int) -> None:
    """Print how many runs are stored, and how many conflict with stored runs."""
    from runner.contract.number_text import format_count

    click.echo(
        f"{format_count(n_runs, 'run')} from {format_count(n_records, 'record')}: {document['created']} stored, "
        f"{document['already_stored']} already stored, in {document['seconds']:.1f} s"
    )
    n_conflicting = document["conflicting"]
    if n_conflicting:
        click.echo(
            f"{n_conflicting} {'was' if n_conflicting == 1 else 'were'} not stored, because different results for the "
            f"same {'run' if n_conflicting == 1 else 'runs'} are already stored"
        )


def _check_format(name: str) -> str:
    """Return the argument of ``--format`` if it is empty or the name of a format; otherwise raise."""
    from runner.importing import FORMATS

    if name and name not in FORMATS:
        raise FaultwatchError(f"--format: there is no format {name!r}", f"formats: {', '.join(FORMATS)}")
    return name


def _join_names(names: list[str]) -> str:
    """Return the first few names as text."""
    n_unlisted = len(names) - _MAX_LISTED_NAMES
    remainder = f" and {n_unlisted:,} more" if n_unlisted > 0 else ""
    listed_names = ", ".join(name[:_MAX_NAME_CHARACTERS] for name in names[:_MAX_LISTED_NAMES])
    return strip_escape_sequences(listed_names) + remainder


def _open_repository(location: str, settings: Settings) -> "CommitFinder":
    """Return the finder of the commits of ``--repo``."""
    from runner.importing.commit_finder import CommitFinder

    if not location:
        return CommitFinder(None)
    from runner.subject.repository import open_repository

    return CommitFinder(open_repository(location, settings.clones))


def _send_reports(
    service: Service, reports: list[Report], n_records: int, commit_finder: "CommitFinder"
) -> dict[str, float]:
    """Send the reports of imported runs; return the counts that the command prints, and the seconds that this took.

    All commits are sent first, so that the service sorts them only once.
    """
    started_at = time.monotonic()
    # Send the commits of each subject.
    revisions_by_subject: dict[str, dict[str, Revision]] = {}
    for report in reports:
        revisions_by_subject.setdefault(report.subject, {})[report.revision.commit] = report.revision
    history, refs = commit_finder.list_history()
    connecting_revisions = {revision.commit: revision for revision in history}
    for subject, revisions in revisions_by_subject.items():
        service.send_revisions(subject, list((connecting_revisions | revisions).values()), refs)
    # Send the reports.
    n_created = n_already_stored = n_conflicting = 0
    with show_activity("storing runs") as activity:
        activity.set_remaining_steps(len(reports))
        for batch_start in range(0, len(reports), REPORTS_PER_REQUEST):
            batch = reports[batch_start : batch_start + REPORTS_PER_REQUEST]
            receipts = service.send_reports(batch)
            activity.advance(len(batch))
            n_created += receipts.created
            n_already_stored += receipts.already_stored
            n_conflicting += len(receipts.conflicting)
    return {
        "records": n_records,
        "runs": len(reports),
        "created": n_created,
        "already_stored": n_already_stored,
        "conflicting": n_conflicting,
        "seconds": round(time.monotonic() - started_at, 3),
    }
