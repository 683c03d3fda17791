"""Checkpoints SQLite's write-ahead log in the background, so that no writer has to.

By default SQLite makes the writer whose commit fills the log do the checkpoint, while all other writers wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from urllib.parse import quote

INTERVAL_SECONDS = 2.0
"""Seconds between two checkpoints while somebody writes: a page that is written repeatedly is copied once."""
RESTART_PAGES = 16_384
"""Length from which the log is restarted. Its file stays: overwriting one is faster than extending it."""
AUTOCHECKPOINT_PAGES = 4 * RESTART_PAGES
"""Length at which a writer checkpoints after all, should this module fall behind."""
_WAIT_MS = 50
"""How long the restart of the log waits for readers, in milliseconds: writers are held back meanwhile."""
_PRIMARY_CODE = 0xFF
"""Mask of an extended result code: https://sqlite.org/rescode.html."""


def checkpoint_wal(file: Path, write_lock: Callable[[], AbstractContextManager[None]]) -> None:
    """Copy the pages in the log into the database file, and restart the log where it is long.

    If another connection locks the whole database, as the last one does while it closes, the next checkpoint copies the
    pages; this is not an error.

    Parameters
    ----------
    file
        The database.
    write_lock
        Holds writers back for the short last part, which restarts the log.
    """
    uri = f"file:{quote(str(file.absolute()))}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)) as connection:
        if _checkpoint(connection, "PASSIVE") < RESTART_PAGES:
            return
        _checkpoint(connection, "PASSIVE")  # the pages written during the first one
        with write_lock():
            connection.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
            _checkpoint(connection, "RESTART")  # fails during a long read; the next checkpoint tries again


def _checkpoint(connection: sqlite3.Connection, mode: str) -> int:
    """Checkpoint the log in one of SQLite's modes; return the pages in the log.

    The number is negative if another connection is checkpointing or holds the database.
    """
    try:
        _, pages, _ = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY:
            raise
        return -1
    return int(pages)
