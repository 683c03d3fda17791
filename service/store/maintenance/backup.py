"""Backs the database up while the service runs, and restores it while the service is stopped."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.engine.upgrade import list_known_schemas, require_data
from service.store.maintenance import postgres_backup, sqlite_import
from service.store.maintenance.complete_files import explain_write_errors, write_completely

_PAGES_PER_STEP = 512
"""Number of pages that are copied at a time."""
_STOP_REMEDY = "Stop the service and everything else that uses the database, then try again."


def backup_database(
    database: Database, file: Path, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> None:
    """Copy a snapshot of the database to a file, atomically.

    Writers do not have to wait: a reader of SQLite's write-ahead log does not block them, and pg_dump reads a snapshot.

    Parameters
    ----------
    progress
        Called with the numbers of copied pages and of all pages of SQLite's file.

    Raises
    ------
    ServiceError
        If there is no database, the file already exists or cannot be written, or copying fails.
    """
    if file.exists():
        raise ServiceError("The file already exists", str(file), "Choose another name, or move the existing file away.")
    if database.is_sqlite:
        require_data(database)
    with write_completely(file) as part_file:
        if database.is_sqlite:
            _copy_sqlite(_find_sqlite_file(database), part_file, progress)
        else:
            postgres_backup.dump_database(database, part_file)


def restore_database(
    database: Database,
    file: Path,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Replace the database with a backup, atomically.

    Parameters
    ----------
    database
        The database to replace.
    file
        The backup; a backup of SQLite can also be restored into PostgreSQL.
    replace
        Whether to replace a database with runs that the backup lacks, or a file that is not a database.
    progress
        If a SQLite backup is loaded into PostgreSQL: called with the numbers of loaded rows and of all its rows.

    Raises
    ------
    ServiceError
        If this version cannot read the backup, the database is in use or must not be replaced, or restoring fails.
    """
    if not file.is_file():
        raise ServiceError("There is no such file", str(file), "Choose a file written by faultwatch-service backup.")
    if not database.is_sqlite and sqlite_import.is_sqlite(file):
        _verify_backup(file)
        postgres_backup.require_replaceable_database(database, replace)
        sqlite_import.load_backup(database, file, progress)
        return
    if not database.is_sqlite:
        postgres_backup.restore_dump(database, file, replace)
        return
    _verify_backup(file)
    target = _find_sqlite_file(database)
    with explain_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    with write_completely(target) as part_file:
        sqlite_import.copy_backup(file, part_file)
        _require_replaceable_database(target, file, replace)
        for suffix in ("-wal", "-shm"):  # logs of the replaced database, which SQLite would apply to the new one
            target.with_name(target.name + suffix).unlink(missing_ok=True)


def _find_sqlite_file(database: Database) -> Path:
    """Return the file of a SQLite database; raise an error if it is in memory or opened through a URI."""
    name = database.url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        raise ServiceError("The database is not a file", database.name, "Set DATABASE_URL to a database file.")
    return Path(name)


def _copy_sqlite(file: Path, part_file: Path, progress: Callable[[int, int], None]) -> None:
    """Copy a SQLite database while others use it, and verify the copy.

    Raises
    ------
    ServiceError
        If the database cannot be copied.
    """

    def flush_and_report(_status: int, remaining: int, total: int) -> None:
        # Flush often: one large flush would delay the service's own writes.
        os.fdatasync(part_stream.fileno())
        progress(total - remaining, total)

    try:
        with (
            closing(sqlite_import.open_file(file, "rw")) as source,
            closing(sqlite_import.open_file(part_file, "rw")) as copy,
            part_file.open("rb") as part_stream,
        ):
            # In one transaction, because a copy in several transactions restarts whenever somebody writes in between.
            source.execute("BEGIN")
            source.execute("SELECT 1 FROM alembic_version").fetchall()
            copy.execute("PRAGMA synchronous = OFF")
            copy.execute("PRAGMA cache_size = -1024")
            source.backup(copy, pages=_PAGES_PER_STEP, progress=flush_and_report)
            source.execute("COMMIT")
            # Checkpoint the pages written in the meantime, so that the next writer does not have to.
            source.execute("PRAGMA wal_checkpoint(PASSIVE)")
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log
        _verify_backup(part_file)
    except sqlite3.Error as error:
        raise ServiceError(
            "The database cannot be copied", f"{file} ({error})", "Check the database and the disk."
        ) from error


def _verify_backup(file: Path) -> None:
    """Raise an error if a backup is damaged, or if this version cannot read it."""
    try:
        with closing(sqlite_import.open_file(file, "ro")) as connection:
            (problem,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            (schema,) = connection.execute("SELECT version_num FROM alembic_version").fetchone() or ("none",)
            if schema not in list_known_schemas():
                what = "This version of Faultwatch does not know the schema of the backup"
                remedy = "Install the version that wrote the backup, or a newer one."
                raise ServiceError(what, f"{file} has schema {schema}", remedy)
            connection.execute("SELECT count(*) FROM run")  # Fails if there is no such table.
    except sqlite3.Error as error:
        raise ServiceError("The file is not a valid backup", f"{file} ({error})", "Choose another backup.") from error


def _require_replaceable_database(target: Path, backup: Path, replace: bool) -> None:
    """Raise an error if somebody else uses a database, or if a backup must not replace it."""
    if not target.exists() or target.stat().st_size == 0:
        return
    with closing(sqlite_import.open_file(target, "rw")) as connection:
        lacking_runs = _lock_and_count_lacking_runs(connection, target, backup)
    if lacking_runs is None and not replace:
        raise ServiceError(
            "The file to replace is not a Faultwatch database",
            str(target),
            "Repeat the command with --replace to overwrite it.",
        )
    if lacking_runs and not replace:
        raise ServiceError(
            "The database has runs that the backup lacks",
            f"{lacking_runs:,} {'run' if lacking_runs == 1 else 'runs'} in {target}",
            "Repeat the command with --replace to discard these runs.",
        )


def _lock_and_count_lacking_runs(connection: sqlite3.Connection, target: Path, backup: Path) -> int | None:
    """Lock a database until the connection is closed, and return how many of its runs a backup lacks.

    The number is None if the database is not Faultwatch's. Runs are compared by their ids: another database can have
    as many runs.

    The database leaves WAL mode, so that its file contains everything.

    Raises
    ------
    ServiceError
        If somebody else has the database open, or it cannot be changed.
    """
    try:
        # Check this before anything is changed, so that another program's file stays unchanged.
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"alembic_version", "run"} <= tables:
            return None
        # SQLite leaves WAL mode only if this is the only connection.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
        connection.execute("ATTACH ? AS backup", (sqlite_import.build_uri(backup, "ro"),))
        connection.execute("BEGIN EXCLUSIVE")
        (count,) = connection.execute(
            "SELECT count(*) FROM main.run WHERE id NOT IN (SELECT id FROM backup.run)"
        ).fetchone()
        return int(count)
    except sqlite3.OperationalError as error:
        raise ServiceError(
            "The database is in use, or cannot be changed", f"{target} ({error})", _STOP_REMEDY
        ) from error
    except sqlite3.DatabaseError:
        return None
