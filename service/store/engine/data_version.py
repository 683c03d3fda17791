"""A text that is another one as soon as anything is written to a database, by whichever process."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.store.engine.database import Database

_STARTED = secrets.token_hex(8)
"""Numbers of one process say nothing to another."""


class _File:
    """The version of an SQLite file, by a connection of its own: SQLite tells each what the others have written."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        address = f"{Path(path).absolute().as_uri()}?mode=ro"
        self._connection = sqlite3.connect(address, uri=True, check_same_thread=False)

    def __call__(self) -> str:
        with self._lock:
            (number,) = self._connection.execute("PRAGMA data_version").fetchone()
        return f"{_STARTED}.{number}"


_FILES: WeakKeyDictionary[Engine, _File] = WeakKeyDictionary()


def version(database: Database) -> str | None:
    """Return the version of a database; None where that cannot be told.

    Ask before reading: what is read may then be newer than the version says, and is merely read once more.
    """
    try:
        if database.is_sqlite:
            path = database.url.database
            if not path or path.startswith((":", "file:")):
                return None
            if database.engine not in _FILES:
                _FILES[database.engine] = _File(path)
            return _FILES[database.engine]()
        with database.reading() as session:  # where PostgreSQL's log stands
            return f"{_STARTED}.{session.scalar(text('SELECT pg_current_wal_insert_lsn()'))}"
    except (sqlite3.Error, SQLAlchemyError):
        return None
