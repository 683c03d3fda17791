"""A text that changes whenever any process writes to the database."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.store.engine.database import Database

_PROCESS_TOKEN = secrets.token_hex(8)
"""Part of each version, because the numbers that different processes read are not comparable."""


class _FileVersion:
    """The version of a SQLite file, read through a separate connection, for which SQLite counts all others' writes."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        uri = f"{Path(path).absolute().as_uri()}?mode=ro"
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)

    def read(self) -> str:
        """Return a text that changes whenever another connection writes to the file."""
        with self._lock:
            (number,) = self._connection.execute("PRAGMA data_version").fetchone()
        return f"{_PROCESS_TOKEN}.{number}"


_FILES: WeakKeyDictionary[Engine, _FileVersion] = WeakKeyDictionary()


def read_version(database: Database) -> str | None:
    """Return the version of a database; None if it cannot be read.

    Read the version before the data: data newer than its version is merely read once more.
    """
    try:
        if database.is_sqlite:
            path = database.url.database
            if not path or path.startswith((":", "file:")):  # in memory, or a URI
                return None
            if database.engine not in _FILES:
                _FILES[database.engine] = _FileVersion(path)
            return _FILES[database.engine].read()
        with database.reading() as session:  # the end of PostgreSQL's write-ahead log
            return f"{_PROCESS_TOKEN}.{session.scalar(text('SELECT pg_current_wal_insert_lsn()'))}"
    except (sqlite3.Error, SQLAlchemyError):
        return None
