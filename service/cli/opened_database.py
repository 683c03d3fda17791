"""Opens the database for commands: upgrades it to this version, and reports failures in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.store.engine.database import Database

# The store is imported when a command runs, so that --help stays fast.
# ruff: noqa: PLC0415


@contextmanager
def open_database(*, may_be_new: bool, checks_references: bool = True) -> Iterator[Database]:
    """Open the configured database, upgraded to this version.

    Parameters
    ----------
    may_be_new
        Whether to create a database that does not exist. This makes no sense for a command that only reads or deletes.
    checks_references
        Whether SQLite checks foreign keys.

    Raises
    ------
    ServiceError
        The database is missing, locked, unreachable, of a newer version or of another program; or it fails later.
    """
    from service.config.settings import Config
    from service.store.engine.database import BUSY_SECONDS_AT_START, Database
    from service.store.engine.failures import explain_failures
    from service.store.engine.upgrade import require_data, upgrade_database

    url = Config.from_environment().database_url
    # Report a lock soon, because a user is waiting. The work itself waits longer for locks of the service.
    startup_database = Database(url, BUSY_SECONDS_AT_START)
    try:
        with explain_failures(startup_database):
            if not may_be_new:
                require_data(startup_database)
        upgrade_database(startup_database)
    finally:
        startup_database.close()
    database = Database(url, checks_references=checks_references)
    try:
        with explain_failures(database):
            yield database
    finally:
        database.close()


@contextmanager
def connect_database() -> Iterator[Database]:
    """Yield the configured database without upgrading it, for commands that need it as it is: backup and restore."""
    from service.config.settings import Config
    from service.store.engine.database import Database
    from service.store.engine.failures import explain_failures

    database = Database(Config.from_environment().database_url)
    try:
        with explain_failures(database):
            yield database
    finally:
        database.close()
