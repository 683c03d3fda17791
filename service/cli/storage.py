"""``faultwatch-service backup``, ``restore``, ``export`` and ``retain``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from service.cli.progress import progress
from service.config.settings import Config
from service.errors import ServiceError
from service.schemas.audit import AuditAction

if TYPE_CHECKING:
    from service.store.engine.database import Database

# The commands import lazily, so that --help stays fast.
# ruff: noqa: PLC0415


_ROWS_SHOWN = 10_000
"""Rows after which the progress is shown again."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Back the database up to FILE. The service may run."""
    from service.store.engine.database import Database
    from service.store.maintenance.backup import backup as run

    database = Database(Config.from_environment().database_url)
    with progress("backing up") as shown:
        run(database, file, shown)
    click.echo(f"{database.name} was backed up to {file}: {file.stat().st_size:,} bytes")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Replace the database even if it has more runs: they are lost.")
def restore(file: Path, replace: bool) -> None:
    """Replace the database with the backup in FILE. Stop the service first."""
    from service.store.engine.database import Database
    from service.store.engine.upgrade import upgrade
    from service.store.maintenance.backup import restore as run

    database = Database(Config.from_environment().database_url)
    run(database, file, replace)
    upgrade(database)
    _record(database, AuditAction.DATA_RESTORED, file.name, {"replace": replace})
    database.close()
    click.echo(f"{database.name} was restored from {file}")


@click.command()
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "jsonl", "reports", "pyperf"]),
    default="csv",
    show_default=True,
    help="csv, jsonl: one flat row a sample. reports: whole reports. pyperf: a folder with one suite file a run.",
)
@click.option("--subject", metavar="NAME", help="Only the runs of this subject.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write; for pyperf, a folder.  [default: standard output]",
)
def export(kind: str, subject: str | None, output: Path | None) -> None:
    """Export everything that was measured."""
    from service.store.engine.database import Database

    database = Database(Config.from_environment().database_url)
    if kind == "pyperf":
        if output is None:
            raise ServiceError("Suite files need a folder", "--format pyperf", "Name one with --output.")
        click.echo(f"{_write_suites(database, subject, output):,} suite files are in {output}")
    elif output is None:
        _write_lines(database, kind, subject, sys.stdout)
    else:
        part = output.with_name(f".{output.name}.part")
        with part.open("w", encoding="utf-8", newline="") as stream:
            _write_lines(database, kind, subject, stream)
        part.replace(output)
    database.close()


@click.command(short_help="Thin old reports and profiles; their numbers stay.")
@click.option(
    "--days", type=click.IntRange(1), default=90, show_default=True, metavar="N", help="Thin what is older than this."
)
def retain(days: int) -> None:
    """Thin old reports and profiles: removes perf's output, single processes, logs and light stacks; numbers stay."""
    from service.store.engine.database import Database
    from service.store.maintenance.retain import retain as run

    database = Database(Config.from_environment().database_url)
    with progress("thinning reports") as shown:
        result = run(database, datetime.now(UTC) - timedelta(days=days), shown)
    counts = {"days": days, "runs": result.runs, "profiles": result.profiles}
    _record(database, AuditAction.DATA_THINNED, "", counts)
    database.close()
    click.echo(f"{result.runs:,} reports and {result.profiles:,} profiles thinned, {result.freed:,} bytes freed")


def _record(database: Database, action: AuditAction, target: str, detail: Mapping[str, object]) -> None:
    from service.store import audit

    with database.writing() as session:
        audit.record(session, audit.local_actor(), action, target, detail, now=datetime.now(UTC))


def _write_lines(database: Database, kind: str, subject: str | None, stream: TextIO) -> None:
    from service.store.maintenance import export as exports

    with database.reading() as session, progress("exporting rows") as shown:
        total = exports.count(session, kind, subject)
        for number, line in enumerate(exports.lines(session, kind, subject)):
            stream.write(line)
            if number % _ROWS_SHOWN == 0:
                shown(number, total)


def _write_suites(database: Database, subject: str | None, folder: Path) -> int:
    from service.store.maintenance import export as exports

    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with database.reading() as session, progress("exporting runs") as shown:
        total = exports.count(session, "pyperf", subject)
        for run_id, text in exports.suites(session, subject):
            (folder / f"{run_id}.json").write_text(text, encoding="utf-8")
            count += 1
            shown(count, total)
    return count
