"""Explains errors of the database to the user of a command, in one line with the most likely remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DatabaseError, DBAPIError, InternalError, OperationalError

from service.errors import ServiceError
from service.store.engine.database import Database

_QUOTED_NAME = re.compile(r"""(?<!\w)(["'])[^"']*\1""")
"""A name in the message of a driver, such as that of a user: ``readonly`` is no symptom there."""
_REMEDIES = {
    "lock timeout": (
        "A table is constantly in use",
        "Stop the long-running query or backup, or wait until it has finished, then try again.",
    ),
    "locked": (
        "The database is locked",
        "Stop the program that is using the database, or wait until it has finished and try again.",
    ),
    "readonly": ("The database is read-only", "Make the file and its folder writable by this user."),
    "read-only": ("The database is read-only", "Make the file and its folder writable by this user."),
    "unable to open": (
        "The database cannot be opened",
        "Check that it is a file, that its folder exists, and that this user may write to the folder.",
    ),
    "not a database": ("The file is not a database", "Move it away, or set FAULTWATCH_HOME to another folder."),
    "malformed": ("The database is damaged", "Restore a backup with `faultwatch-service restore FILE --replace`."),
    "full": ("The disk is full", "Free some space."),
    "No space left": ("The disk is full", "Free some space."),
    "disk I/O error": ("The disk cannot be read or written", "Free some space, and check the disk."),
    "refused": ("The database does not answer", "Start PostgreSQL, or correct DATABASE_URL."),
}


@contextmanager
def explain_failures(database: Database) -> Iterator[None]:
    """Turn errors of the database that are not bugs into errors that a person can act on."""
    try:
        yield
    except DBAPIError as error:
        if not _is_caused_by_host(error):
            raise
        raise explain_failure(error, database) from error


def explain_failure(error: DBAPIError, database: Database) -> ServiceError:
    """Return an error of the database with its most likely remedy."""
    return explain_reason(str(error.orig), database.name)


def explain_reason(reason: str, where: str) -> ServiceError:
    """Return a driver's message about a database as an error with its most likely remedy.

    Parameters
    ----------
    reason
        The message of the driver.
    where
        The name of the database.
    """
    reason = " ".join(reason.split())
    reason_without_names = _QUOTED_NAME.sub("", reason)
    for symptom, (problem, remedy) in _REMEDIES.items():
        if re.search(rf"\b{re.escape(symptom)}\b", reason_without_names):
            return ServiceError(problem, where, remedy)
    return ServiceError("The database cannot be used", f"{where} ({reason})", "Check DATABASE_URL.")


def _is_caused_by_host(error: DBAPIError) -> bool:
    """Return whether the host, the server or the file caused an error, rather than a statement.

    Drivers raise DatabaseError itself, not one of its subclasses, if the file is not a database or is damaged. An error
    without a statement happened while connecting.
    """
    is_operational = isinstance(error, OperationalError | InternalError)
    return is_operational or type(error) is DatabaseError or error.statement is None
