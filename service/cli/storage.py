"""``faultwatch-service backup``, ``restore``, ``export``, ``retain``, ``forget`` and ``reindex``."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from runner.contract.number_text import format_count
from runner.contract.word_list import join_words
from service.cli.opened_database import connect_database, open_database
from service.cli.progress import show_progress
from service.errors import ServiceError
from service.schemas.audit import AuditAction

if TYPE_CHECKING:
    from service.store.engine.database import Database
    from service.store.maintenance.retention import RetentionResult

# The commands import lazily, so that --help stays fast.
# ruff: noqa: PLC0415


_RETENTION_NICENESS = 10
"""The nice value of retention: it is not urgent, so the service on the same machine has priority."""
_MAX_DAYS = 36_500
_COUNTED_TABLES = ("revision", "run", "series", "drift", "event", "decision", "profile", "job")
"""The tables whose numbers of rows are shown to the user. The name of a table is also the noun for one row."""
_ROWS_PER_UPDATE = 10_000
"""The number of rows between two updates of the progress."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Back up the database to FILE. The service can keep running."""
    from service.store.maintenance.backup import backup_database

    with connect_database() as database, show_progress("backing up") as report_progress:
        backup_database(database, file, report_progress)
    click.echo(f"{database.name} was backed up to {file}: {file.stat().st_size:,} bytes")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--replace",
    is_flag=True,
    help="Replace the database even if runs would be lost, or if the file to replace is not a Faultwatch database.",
)
def restore(file: Path, replace: bool) -> None:
    """Replace the database with the backup in FILE. Stop the service first."""
    from service.store.engine.upgrade import upgrade_database
    from service.store.maintenance.backup import restore_database

    with connect_database() as database:
        with show_progress("loading") as report_progress:
            restore_database(database, file, replace, report_progress)
        upgrade_database(database)
        _record_action_in_audit_log(database, AuditAction.DATA_RESTORED, file.name, {"replace": replace})
    click.echo(f"{database.name} was restored from {file}")


@click.command()
@click.option(
    "--format",
    "export_format",
    type=click.Choice(["csv", "jsonl", "reports", "parquet", "pyperf"]),
    default="csv",
    show_default=True,
    help=(
        "csv, jsonl: one flat row per sample. reports: whole reports. parquet: a folder with the "
        "same rows as csv; repeated exports add only new runs. pyperf: a folder with one suite file per run."
    ),
)
@click.option("--subject", metavar="NAME", help="Export only the runs of this subject.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write; for parquet and pyperf, a folder.  [default: standard output]",
)
def export(export_format: str, subject: str | None, output: Path | None) -> None:
    """Export everything that was measured."""
    from service.store.maintenance.complete_files import explain_write_errors, write_completely

    if export_format in {"parquet", "pyperf"} and output is None:
        raise ServiceError("This format needs a folder", f"--format {export_format}", "Choose a folder with --output.")
    with open_database(may_be_new=False) as database:
        _refuse_unknown_subjects(database, [] if subject is None else [subject])
        if output is None:
            _write_lines(database, export_format, subject, sys.stdout)
        elif export_format in {"parquet", "pyperf"}:
            write = _write_columns if export_format == "parquet" else _write_suites
            with explain_write_errors(output):
                click.echo(write(database, subject, output))
        else:
            with write_completely(output) as part_file, part_file.open("w", encoding="utf-8", newline="") as stream:
                _write_lines(database, export_format, subject, stream)


@click.command(short_help="Shrink old reports and profiles; levels, drifts and events are kept.")
@click.option(
    "--days",
    type=click.IntRange(1, _MAX_DAYS),
    default=90,
    show_default=True,
    metavar="N",
    help="Shrink reports and profiles that are more than N days old.",
)
@click.option(
    "--samples-days",
    type=click.IntRange(1, _MAX_DAYS),
    metavar="N",
    help=(
        "In runs that are more than N days old, keep all samples of judged counts, the level, minimum and maximum of "
        "other judged metrics, and only the level of all other metrics. By default, all samples are kept."
    ),
)
@click.option(
    "--profiles-days",
    type=click.IntRange(1, _MAX_DAYS),
    metavar="N",
    help="Delete profiles that are more than N days old. By default, all profiles are kept.",
)
@click.option(
    "--subject", "subjects", multiple=True, metavar="NAME", help="Shrink only the data of this subject. Repeatable."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be freed; change nothing.")
def retain(
    days: int, samples_days: int | None, profiles_days: int | None, subjects: tuple[str, ...], dry_run: bool
) -> None:
    """Shrink old reports and profiles. Levels, drifts and events are kept.

    Shrinking removes perf's output, logs, and the readings of individual processes, and merges all but the 200 heaviest
    stacks of each kind in a profile; all other numbers stay.
    With --samples-days, judged counts keep all of their samples, other judged metrics keep three samples (their level
    and extremes), and all other metrics keep only the level.
    """
    from service.store.maintenance.retention import RetentionRule, apply_rule, estimate_rule

    now = datetime.now(UTC)

    def compute_limit(max_days: int | None) -> datetime | None:
        return None if max_days is None else now - timedelta(days=max_days)

    rule = RetentionRule(
        now - timedelta(days=days), compute_limit(samples_days), compute_limit(profiles_days), subjects
    )
    with open_database(may_be_new=False) as database:
        _refuse_unknown_subjects(database, subjects)
        if dry_run:
            result = estimate_rule(database, rule)
        else:
            os.nice(_RETENTION_NICENESS)
            with show_progress("thinning reports") as report_progress:
                result = apply_rule(database, rule, report_progress)
            age_limits = {"days": days, "samples_days": samples_days, "profiles_days": profiles_days}
            requested_limits = {name: age for name, age in age_limits.items() if age is not None}
            _record_action_in_audit_log(
                database, AuditAction.DATA_THINNED, ", ".join(subjects), {**requested_limits, **asdict(result)}
            )
    click.echo(_describe_retention(result, dry_run=dry_run))


def _describe_retention(result: RetentionResult, *, dry_run: bool) -> str:
    """Return in one line what retention has done or, in a dry run, would do."""
    profiles_thinned = format_count(result.profiles_thinned, "profile")
    parts = [f"{format_count(result.thinned, 'report')} and {profiles_thinned} thinned"]
    if result.reduced:
        parts.append(f"{format_count(result.reduced, 'report')} reduced to their levels")
    if result.profiles_deleted:
        parts.append(f"{format_count(result.profiles_deleted, 'profile')} deleted")
    parts.append(f"{'about ' if dry_run else ''}{result.freed:,} bytes freed")
    if result.returned:
        parts.append(f"{result.returned:,} bytes returned to the file system")
    return ("nothing was changed; without --dry-run, the result would be: " if dry_run else "") + ", ".join(parts)


@click.command(short_help="Delete a subject and all of its measurements.")
@click.argument("subject")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted; delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def forget(subject: str, dry_run: bool, yes: bool) -> None:
    """Delete SUBJECT: its runs, series, drifts, events, profiles and jobs.

    Only a backup can bring them back. The service may run, but nobody should send runs of the subject in the meantime.
    """
    from service.store.maintenance import subject_deletion as deletion

    # Do not check references: rows are deleted in a safe order, and for the check SQLite would read all points for each
    # run.
    with open_database(may_be_new=False, checks_references=False) as database:
        _refuse_unknown_subjects(database, [subject])
        counts = {name: count for name, count in deletion.count_stored_rows(database, subject).items() if count}
        count_texts = [format_count(count, name) for name, count in counts.items() if name in _COUNTED_TABLES]
        click.echo(f"{subject} has {join_words(count_texts) or 'nothing'}")
        if not dry_run and (yes or click.confirm("Delete all of it?", default=False)):
            with show_progress("deleting") as report_progress:
                deletion.delete_subject(database, subject, report_progress)
            _record_action_in_audit_log(database, AuditAction.SUBJECT_FORGOTTEN, subject, counts)
            click.echo(f"{subject} was deleted")


@click.command()
def reindex() -> None:
    """Rebuild the data that comparisons read, from the points of each run. The service can keep running."""
    from service.store.runs.packed_levels import rebuild_all_levels

    with open_database(may_be_new=False) as database, show_progress("rebuilding") as report_progress:
        n_runs = rebuild_all_levels(database, report_progress)
    click.echo(f"{database.name}: the levels of {format_count(n_runs, 'run')} were rebuilt")


def _refuse_unknown_subjects(database: Database, names: Collection[str]) -> None:
    """Check that subjects are stored.

    Raises
    ------
    ServiceError
        A subject is unknown.
    """
    from service.store import subjects

    with database.reading() as session:
        stored_names = [entry.name for entry in subjects.list_subjects(session)]
    for name in names:
        if name not in stored_names:
            raise ServiceError("There is no such subject", name, f"Known: {', '.join(stored_names) or 'none yet'}.")


def _record_action_in_audit_log(
    database: Database, action: AuditAction, target: str, detail: Mapping[str, object]
) -> None:
    """Record an action of a command in the audit log, with the name of the user who runs it."""
    from service.store import audit

    with database.writing() as session:
        audit.record_entry(session, audit.find_local_actor(), action, target, detail, now=datetime.now(UTC))


def _write_lines(database: Database, export_format: str, subject: str | None, stream: TextIO) -> None:
    """Write an export line by line to a stream, and show the progress."""
    from service.store.maintenance import export as exports

    with database.reading() as session, show_progress("exporting rows") as report_progress:
        total = exports.count_rows(session, export_format, subject)
        for number, line in enumerate(exports.list_lines(session, export_format, subject)):
            stream.write(line)
            if number % _ROWS_PER_UPDATE == 0:
                report_progress(number, total)


def _write_columns(database: Database, subject: str | None, folder: Path) -> str:
    """Add new runs to a folder of Parquet files; return a sentence with their number."""
    from service.store.maintenance import parquet_export

    with show_progress("exporting runs") as report_progress:
        added = parquet_export.export_parquet(database, folder, subject, report_progress)
    return f"Runs added to {folder}: {added.runs:,}, with {added.rows:,} rows"


def _write_suites(database: Database, subject: str | None, folder: Path) -> str:
    """Write each run as a pyperf suite file into a folder; return a sentence with the number of files."""
    from service.store.maintenance import export as exports
    from service.store.maintenance.complete_files import write_completely

    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with database.reading() as session, show_progress("exporting runs") as report_progress:
        total = exports.count_rows(session, "pyperf", subject)
        for run_id, text in exports.list_suites(session, subject):
            with write_completely(folder / f"{run_id}.json") as part_file:
                part_file.write_text(text, encoding="utf-8")
            count += 1
            report_progress(count, total)
    return f"{format_count(count, 'suite file')} {'is' if count == 1 else 'are'} in {folder}"
