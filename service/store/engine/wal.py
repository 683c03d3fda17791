"""Checkpoints SQLite's write-ahead log in the background, so that no writer has to.

By default, the writer whose commit fills the log has to do the checkpoint, while all other writers wait.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from urllib.parse import quote

INTERVAL_SECONDS = 2.0
"""Seconds between checkpoints while somebody writes, so that a page that is written repeatedly is copied only once."""
RESTART_PAGES = 16_384
"""Length, in pages, from which the log is restarted. Its file is kept: overwriting is faster than extending it."""
AUTOCHECKPOINT_PAGES = 4 * RESTART_PAGES
"""Length, in pages, at which a writer has to do a checkpoint after all, if this module falls behind."""
_WAIT_MS = 50
"""How long, in milliseconds, the restart of the log waits for readers; writers have to wait meanwhile."""
_PRIMARY_CODE = 0xFF
"""Mask of an extended result code: https://sqlite.org/rescode.html."""


def checkpoint_wal(file: Path, write_lock: Callable[[], AbstractContextManager[None]]) -> None:
    """Copy the pages in the log into the database file, and restart the log if it is long.

    If another connection locks the whole database, as the last connection does while it closes, the next checkpoint
    copies the pages; this is not an error.

    Parameters
    ----------
    file
        The database.
    write_lock
        Blocks writers during the short last part, which restarts the log.
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
    """Checkpoint the log in one of SQLite's modes; return the number of pages in the log.

    The number is negative if another connection is doing a checkpoint or has locked the database.
    """
    try:
        _, pages, _ = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY:
            raise
        return -1
    return int(pages)
