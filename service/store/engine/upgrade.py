"""Upgrades the database to the schema of this version, or fails with one line that says why."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.engine.error_codes import is_locked
from service.store.engine.failures import explain_failure, explain_reason
from service.store.engine.private_files import make_file_private

MIGRATIONS = Path(__file__).parents[1] / "migrations"
_LOCK_TIMEOUT, _PAUSE_SECONDS = "200ms", 1.0
"""How long a migration waits for a table in use, and how many seconds it pauses before it tries again. PostgreSQL looks
for deadlocks after a second: with a longer wait, it could end a reader that holds one table and waits for another."""
MAX_SECONDS = 600.0
"""An upgrade gives up after this many seconds."""
_SCHEMA_NUMBER = re.compile(r"\d{4}")
"""The format of the numbers of our migrations."""


def upgrade_database(database: Database, *, accepts_newer: bool = False) -> None:
    """Run the pending migrations atomically, in one process at a time.

    On PostgreSQL, while a migration waits for a long query, all other queries queue behind it. It therefore gives up
    after a moment, lets the others pass, and tries again.

    Parameters
    ----------
    accepts_newer
        Whether to accept, and not change, a database that a newer version has upgraded, so that a machine with the
        older version can go on serving. See "Change the schema" in CONTRIBUTING.md.

    Raises
    ------
    ServiceError
        If the database is locked, read-only, not a database, or made by a newer version or another program.
    """
    if database.file is not None:
        _refuse_foreign_file(database.file)
    _make_folder_and_file(database)
    deadline = time.monotonic() + MAX_SECONDS
    while True:
        try:
            with database.writing() as session:
                if not database.is_sqlite:
                    session.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'"))
                run_migrations(session.connection(), database, accepts_newer=accepts_newer)
        except DBAPIError as error:
            if not is_locked(error) or time.monotonic() > deadline:
                raise explain_failure(error, database) from error
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def list_known_schemas() -> set[str]:
    """Return the schemas that this version can upgrade: the number prefixes of its migrations."""
    return {file.name.partition("_")[0] for file in MIGRATIONS.glob("versions/[0-9]*_*.py")}


def find_newest_schema() -> str:
    """Return the schema of this version."""
    return max(list_known_schemas())


def run_migrations(connection: Connection, database: Database, *, accepts_newer: bool = False) -> None:
    """Run the pending migrations in the caller's transaction.

    Raises
    ------
    ServiceError
        If the database was made by a newer version, or by another program.
    """
    tables = set(inspect(connection).get_table_names())
    schema = _read_schema(connection, tables)
    if _is_foreign(tables, schema):
        raise make_foreign_error(database.name)
    if schema not in {None, *list_known_schemas()}:
        if accepts_newer:
            return
        raise ServiceError(
            "The database was created by a newer version of Faultwatch",
            f"{database.name} has schema {schema}; this version knows {find_newest_schema()}",
            "Install that version, or set FAULTWATCH_HOME or DATABASE_URL to another database.",
        )
    if schema != find_newest_schema():
        _run_alembic(connection)
    # Write something, so that a read-only database fails here rather than at the first report.
    connection.execute(text("UPDATE alembic_version SET version_num = version_num"))


def _run_alembic(connection: Connection) -> None:
    """Run the pending migrations with Alembic, on an open connection."""
    # Imported here, because Alembic is a tenth of all imports of a service, and few starts need it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    command.upgrade(config, "head")


def require_data(database: Database) -> None:
    """Raise an error unless the database has already been created, by this or another version; create nothing.

    Raises
    ------
    ServiceError
        If there is no database, or it belongs to another program.
    """
    if database.file is not None and not _is_missing(database.file):
        _refuse_foreign_file(database.file)
        return
    if database.file is None:
        with database.engine.connect() as connection:
            if inspect(connection).has_table("alembic_version"):
                return
    remedy = "Set FAULTWATCH_HOME or DATABASE_URL to the same value as for the service, which creates the database."
    raise ServiceError("There is no database", database.name, remedy)


def make_foreign_error(where: str) -> ServiceError:
    """Return the error that a database is not Faultwatch's."""
    return ServiceError(
        "The database belongs to another program",
        where,
        "Set DATABASE_URL to an empty or a new database, or FAULTWATCH_HOME to another folder.",
    )


def _is_missing(file: Path) -> bool:
    """Return whether there is no file, or an empty file, which SQLite treats as a new database."""
    try:
        return (file.is_file() and file.stat().st_size == 0) or not file.exists()
    except OSError:  # SQLite's own error explains better why the file cannot be opened
        return False


def _refuse_foreign_file(file: Path) -> None:
    """Raise an error if a file is not Faultwatch's, before anything changes its mode or its journal.

    A file that cannot be read is accepted here, because opening it later gives a better error.
    """
    if _is_missing(file):
        return
    address = f"file:{quote(str(file.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            schema = None
            if "alembic_version" in tables:
                (schema,) = connection.execute("SELECT version_num FROM alembic_version").fetchone() or (None,)
    except sqlite3.Error as error:
        if "not a database" in str(error):
            raise explain_reason(str(error), str(file)) from error
        return
    if _is_foreign(tables, schema):
        raise make_foreign_error(str(file))


def _is_foreign(tables: Collection[str], schema: str | None) -> bool:
    """Return whether a database belongs to another program, which may use Alembic as well."""
    return bool(tables) and (schema is None or not _SCHEMA_NUMBER.fullmatch(schema))


def _read_schema(connection: Connection, tables: Collection[str]) -> str | None:
    """Return the schema of a database; None if it has none yet."""
    if "alembic_version" not in tables:
        return None
    schema: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return schema


def _make_folder_and_file(database: Database) -> None:
    """Create the folder and the file of a SQLite database, so that only their owner can read the file.

    Raises
    ------
    ServiceError
        If they cannot be created.
    """
    name = database.url.database if database.is_sqlite else None
    # A URI (file:…?mode=ro) names an existing database.
    if not name or name.startswith("file:"):
        return
    folder = Path(name).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if name != ":memory:":
            make_file_private(Path(name))
    except OSError as error:
        raise ServiceError(
            "The database folder cannot be created",
            f"{folder} ({error.strerror})",
            "Set FAULTWATCH_HOME to a folder that this user may write to.",
        ) from error
