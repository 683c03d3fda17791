"""Upgrades the database to the schema of this version, or fails with one line that says why."""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.engine.error_codes import is_locked
from service.store.engine.private_files import make_private

MIGRATIONS = Path(__file__).parents[1] / "migrations"
_PATIENCE, _PAUSE_SECONDS = "200ms", 1.0
"""For how long a migration waits for a table that is in use, and pauses before it tries again. A reader that has one
table and waits for another one would be the victim of a deadlock after a second."""
MAX_SECONDS = 600.0
"""After which an upgrade gives up."""
_REMEDIES = {
    "lock timeout": (
        "A table is constantly in use",
        "End the long query or backup, or wait until it has finished and try again.",
    ),
    "locked": (
        "The database is locked",
        "Stop the program that is using the database, or wait until it has finished and try again.",
    ),
    "readonly": ("The database is read-only", "Make the file and its folder writable for this user."),
    "read-only": ("The database is read-only", "Make the file and its folder writable for this user."),
    "unable to open": (
        "The database cannot be opened",
        "Check that its folder exists and that this user may write there.",
    ),
    "not a database": ("The file is not a database", "Move it away, or set FAULTWATCH_HOME to another folder."),
    "full": ("The disk is full", "Free some space."),
}


def upgrade_database(database: Database, *, accepts_newer: bool = False) -> None:
    """Run the pending migrations, all of them or none, one process at a time.

    On PostgreSQL, a migration that waits for a long query makes all other queries wait behind it. It therefore gives up
    after a moment, lets the others pass, and tries again.

    Parameters
    ----------
    accepts_newer
        Whether to leave a database alone that a newer version has upgraded, as a machine does that served before. See
        "Change the schema" in CONTRIBUTING.md.

    Raises
    ------
    ServiceError
        Where the database is locked, read-only, not a database, or made by a newer version.
    """
    _make_folder(database)
    deadline = time.monotonic() + MAX_SECONDS
    while True:
        try:
            with database.writing() as session:
                if not database.is_sqlite:
                    session.execute(text(f"SET LOCAL lock_timeout = '{_PATIENCE}'"))
                run_migrations(session.connection(), database, accepts_newer=accepts_newer)
        except DBAPIError as error:
            if not is_locked(error) or time.monotonic() > deadline:
                raise _explain_failure(error, database) from error
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def list_known_schemas() -> set[str]:
    """Return the schemas that this version can upgrade: the number prefixes of the migrations."""
    return {file.name.partition("_")[0] for file in MIGRATIONS.glob("versions/[0-9]*_*.py")}


def find_newest_schema() -> str:
    """Return the schema of this version."""
    return max(list_known_schemas())


def run_migrations(connection: Connection, database: Database, *, accepts_newer: bool = False) -> None:
    """Run the pending migrations in a transaction of the caller's.

    Raises
    ------
    ServiceError
        The database was made by a newer version.
    """
    schema = _read_schema(connection)
    if schema not in {None, *list_known_schemas()}:
        if accepts_newer:
            return
        raise ServiceError(
            "The database was created by a newer version of Faultwatch",
            f"{database.name} has schema {schema}; this version knows {find_newest_schema()}",
            "Install that version, or set FAULTWATCH_HOME to another folder.",
        )
    if schema != find_newest_schema():
        _run_alembic(connection)
    connection.execute(
        text("UPDATE alembic_version SET version_num = version_num")
    )  # fails here where the database is read-only


def _run_alembic(connection: Connection) -> None:
    """Run the pending migrations by Alembic, on an open connection."""
    # Alembic is a tenth of what a service imports, and few starts have something to migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    command.upgrade(config, "head")


def _read_schema(connection: Connection) -> str | None:
    """Return the schema of a database; None if it has none yet."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    schema: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return schema


def _make_folder(database: Database) -> None:
    """Create the folder and the file of a SQLite database, so that only their owner can read the file."""
    name = database.url.database if database.is_sqlite else None
    # A URI (file:…?mode=ro) names an existing database.
    if not name or name.startswith("file:"):
        return
    folder = Path(name).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if name != ":memory:":
            make_private(Path(name))
    except OSError as error:
        raise ServiceError(
            "The folder of the database cannot be created",
            f"{folder} ({error.strerror})",
            "Set FAULTWATCH_HOME to a folder that this user may write to.",
        ) from error


def _explain_failure(error: DBAPIError, database: Database) -> ServiceError:
    """Return an error of the database with its most likely remedy."""
    reason = str(error.orig)
    for symptom, (problem, remedy) in _REMEDIES.items():
        if symptom in reason:
            return ServiceError(problem, database.name, remedy)
    return ServiceError("The database cannot be used", f"{database.name} ({reason})", "Check DATABASE_URL.")
