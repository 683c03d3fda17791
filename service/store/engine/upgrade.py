"""Upgrades the database to the schema of this version, or fails with one line that says why."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from service.errors import ServiceError
from service.store.engine.database import Database

_REMEDIES = {
    "locked": ("The database is locked", "Stop the program that holds it, or try again when it is done."),
    "readonly": ("The database is read-only", "Make the file and its folder writable for this user."),
    "read-only": ("The database is read-only", "Make the file and its folder writable for this user."),
    "unable to open": (
        "The database cannot be opened",
        "Check that its folder exists and that this user may write there.",
    ),
    "not a database": ("The file is not a database", "Move it away, or set FAULTWATCH_HOME to another folder."),
    "full": ("The disk is full", "Make room on it."),
}


def upgrade(database: Database) -> None:
    """Run the pending migrations, all of them or none, one process at a time.

    Raises
    ------
    ServiceError
        Where the database is locked, read-only, not a database, or made by a newer version.
    """
    _make_folder(database)
    try:
        with database.writing() as session:
            migrate(session.connection(), database)
    except DBAPIError as error:
        raise _explain(error, database) from error


def known_schemas() -> set[str]:
    """Return the schemas that this version can upgrade."""
    return {script.revision for script in _scripts(AlembicConfig()).walk_revisions()}


def newest_schema() -> str:
    """Return the schema of this version."""
    return _scripts(AlembicConfig()).get_current_head() or ""


def _scripts(config: AlembicConfig) -> ScriptDirectory:
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations").replace("%", "%%"))
    return ScriptDirectory.from_config(config)


def migrate(connection: Connection, database: Database) -> None:
    """Run the pending migrations in a transaction of the caller's.

    Raises
    ------
    ServiceError
        Where the database was made by a newer version.
    """
    config = AlembicConfig(attributes={"connection": connection})
    _refuse_newer(connection, _scripts(config), database)
    command.upgrade(config, "head")
    connection.execute(
        text("UPDATE alembic_version SET version_num = version_num")
    )  # fails here where the database is read-only


def _refuse_newer(connection: Connection, scripts: ScriptDirectory, database: Database) -> None:
    if not inspect(connection).has_table("alembic_version"):
        return
    schema = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if schema not in {script.revision for script in scripts.walk_revisions()}:
        raise ServiceError(
            "The database was made by a newer version of Faultwatch",
            f"{database.name} has schema {schema}; this version knows {scripts.get_current_head()}",
            "Install that version, or set FAULTWATCH_HOME to another folder.",
        )


def _make_folder(database: Database) -> None:
    name = database.url.database if database.is_sqlite else None
    # A URI (file:…?mode=ro) names an existing database.
    if not name or name.startswith("file:"):
        return
    folder = Path(name).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ServiceError(
            "The folder of the database cannot be created",
            f"{folder} ({error.strerror})",
            "Set FAULTWATCH_HOME to a folder that this user may write to.",
        ) from error


def _explain(error: DBAPIError, database: Database) -> ServiceError:
    reason = str(error.orig)
    for symptom, (what, remedy) in _REMEDIES.items():
        if symptom in reason:
            return ServiceError(what, database.name, remedy)
    return ServiceError("The database cannot be used", f"{database.name} ({reason})", "Check DATABASE_URL.")
