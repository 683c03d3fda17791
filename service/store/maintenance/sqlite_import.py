"""Loads a backup of SQLite into PostgreSQL: all rows keep their ids, so that all addresses and tokens stay valid."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from sqlalchemy import Boolean, Connection, Table, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from service.config.settings import build_sqlite_address
from service.errors import ServiceError
from service.store.engine import bulk, table_partitions
from service.store.engine.database import Database
from service.store.engine.upgrade import find_newest_schema, run_migrations, upgrade_database
from service.store.maintenance import postgres_backup
from service.store.models import Base, LastNumber, Moment

_MAGIC = b"SQLite format 3\0"
_ROWS_PER_UPDATE = 10_000
"""The progress is reported after every so many rows."""
_FOREIGN_KEYS = text(
    "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE contype = 'f' AND conparentid = 0 AND connamespace = current_schema()::regnamespace ORDER BY oid"
)
Progress = Callable[[int, int], None]
"""Called with the number of rows loaded and the total number."""


def is_sqlite(file: Path) -> bool:
    """Return whether a file is a SQLite database."""
    with file.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def open_file(file: Path, mode: str) -> sqlite3.Connection:
    """Open a SQLite database in one of SQLite's modes: ``ro``, ``rw`` or ``rwc``; do not wait for locks."""
    return sqlite3.connect(build_uri(file, mode), uri=True, isolation_level=None, timeout=0)


def build_uri(file: Path, mode: str) -> str:
    """Return the URI by which SQLite opens a file for reading (``ro``), writing (``rw``) or creating (``rwc``)."""
    return f"file:{quote(str(file.absolute()))}?mode={mode}"


def copy_backup(file: Path, target: Path) -> None:
    """Copy a backup with the runs in the log beside it, if somebody copied both files while the service was running.

    Parameters
    ----------
    target
        The copy: a new or an empty file.

    Raises
    ------
    ServiceError
        If the backup cannot be copied.
    """
    try:
        with closing(open_file(file, "ro")) as source, closing(open_file(target, "rwc")) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # the caller flushes the file as a whole if necessary
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log
    except sqlite3.Error as error:
        raise ServiceError("The backup cannot be copied", f"{file} ({error})", "Check the disk.") from error


def load_backup(database: Database, file: Path, progress: Progress = lambda _done, _total: None) -> None:
    """Replace the content of a PostgreSQL database with a backup of SQLite, atomically.

    Parameters
    ----------
    database
        The database, which nobody else may be using.
    file
        An undamaged backup, from this version or an older one.

    Raises
    ------
    ServiceError
        If the backup cannot be loaded.
    """
    try:
        with _open_backup_in_this_version(file) as source, Session(database.engine) as session, session.begin():
            connection = session.connection()
            connection.exec_driver_sql(postgres_backup.DROP_TABLES)
            run_migrations(connection, database)
            _load_rows(session, source, progress)
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
    except (DBAPIError, sqlite3.Error) as error:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        raise ServiceError(
            "The backup cannot be loaded", f"{file} ({reason})", "Fix this problem, then try again."
        ) from error


@contextmanager
def _open_backup_in_this_version(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a backup; if it is from an older version, open an upgraded copy of it, which is made in the same folder."""
    with ExitStack() as stack:
        current_file = file
        if _read_schema(file) != find_newest_schema():
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="faultwatch-", dir=file.parent))
            current_file = Path(folder) / "upgraded.db"
            copy_backup(file, current_file)
            copy = Database(build_sqlite_address(current_file))
            upgrade_database(copy)
            copy.close()
        yield stack.enter_context(closing(open_file(current_file, "ro")))


def _read_schema(file: Path) -> str:
    with closing(open_file(file, "ro")) as connection:
        return cast(str, connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def _load_rows(session: Session, source: sqlite3.Connection, progress: Progress) -> None:
    """Copy all rows of a backup into PostgreSQL's tables, and check their references once at the end."""
    connection = session.connection()
    tables = Base.metadata.sorted_tables
    counts = {table: source.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0] for table in tables}  # noqa: S608
    (newest_run,) = source.execute("SELECT coalesce(max(number), 0) FROM run").fetchone()
    table_partitions.create_partitions(connection, newest_run)
    foreign_keys = connection.execute(_FOREIGN_KEYS).all()
    for table, name, _ in foreign_keys:  # checking them only once, at the end, takes a fraction of the time
        connection.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT {name}"))
    loaded_rows = 0
    total_rows = sum(counts.values())
    for table in tables:
        rows = _read_rows(source, table)
        columns = [column.name for column in table.columns]
        bulk.insert_rows(
            session, table, columns, _report_progress(rows, loaded_rows, total_rows, progress), encoded_columns=columns
        )
        loaded_rows += counts[table]
    for table, name, definition in foreign_keys:
        connection.execute(text(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"))
    _set_sequences(connection)


def _read_rows(source: sqlite3.Connection, table: Table) -> Iterator[bulk.Values]:
    """Yield the rows of a table with values in PostgreSQL's form."""
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    rows: Iterator[bulk.Values] = source.execute(f'SELECT {columns} FROM "{table.name}"')  # noqa: S608
    converters = [_find_converter(column.type) for column in table.columns]
    if not any(converters):
        return rows
    return (
        tuple(
            value if value is None or convert is None else convert(value)
            for value, convert in zip(row, converters, strict=True)
        )
        for row in rows
    )


def _find_converter(kind: object) -> Callable[[Any], Any] | None:
    """Return the function that converts a value of SQLite for PostgreSQL; None if both have the same form."""
    if isinstance(kind, Moment):
        return lambda value: f"{value}+00"  # SQLite's times are in UTC, without a zone
    return bool if isinstance(kind, Boolean) else None


def _report_progress(
    rows: Iterator[bulk.Values], loaded_rows: int, total_rows: int, progress: Progress
) -> Iterator[bulk.Values]:
    """Yield rows, and regularly report how many were read."""
    for number, row in enumerate(rows, loaded_rows + 1):
        yield row
        if number % _ROWS_PER_UPDATE == 0 or number == total_rows:
            progress(number, total_rows)


def _set_sequences(connection: Connection) -> None:
    """Set the sequences above all ids that rows have ever had."""
    last_numbers = dict(connection.execute(select(LastNumber.kind, LastNumber.number)).all())
    for table in Base.metadata.sorted_tables:
        for column in table.primary_key:
            owner = {"table": f'"{table.name}"', "column": column.name}
            name = connection.execute(text("SELECT pg_get_serial_sequence(:table, :column)"), owner).scalar()
            if name is not None:
                last_number = max(
                    connection.execute(select(func.max(column))).scalar() or 0, last_numbers.get(table.name, 0)
                )
                connection.execute(text("SELECT setval(:name, :next, false)"), {"name": name, "next": last_number + 1})
