"""SQLite's write-ahead log: what it holds is put in its place beside those who write, so that no writer has to.

SQLite has the writer do it whose commit makes the log long, and everybody else waits meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from urllib.parse import quote

EVERY = 2.0
"""Seconds between two times while there is something to do: what is written again and again is put in place once."""
LONGEST = 16_384
"""Pages from which on the log is begun anew. It keeps its file: to write over one is faster than to lengthen it."""
SAFE = 4 * LONGEST
"""Pages at which a writer does the work all the same, should nobody else get to it."""
_WAIT_MS = 50


def put_in_place(file: Path, turn: Callable[[], AbstractContextManager[None]]) -> None:
    """Put in its place what the log of a database holds, and begin the log anew where it is long.

    Parameters
    ----------
    turn
        Keeps writers waiting: for what is left by then, which is little.
    """
    address = f"file:{quote(str(file.absolute()))}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)) as connection:
        if _checkpoint(connection, "PASSIVE") < LONGEST:
            return
        _checkpoint(connection, "PASSIVE")  # what was written during the first one
        with turn():
            connection.execute(f"PRAGMA busy_timeout = {_WAIT_MS}")
            _checkpoint(connection, "RESTART")  # where somebody reads for long it fails, and is tried again later


def _checkpoint(connection: sqlite3.Connection, mode: str) -> int:
    """Return how many pages the log has; less than none where somebody else is at it."""
    _, pages, _ = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return int(pages)
