"""Turns among the writers of one SQLite database, in whatever process they are.

SQLite itself lets them try again and again, each more seldom: under load one can be passed over for half a minute.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE = 0.002


class Turn:
    """Lets one writer at a time go on. Who has waited too long goes on all the same, and meets SQLite's own lock."""

    def __init__(self, file: Path, seconds: float) -> None:
        self._file, self._seconds = file, seconds
        self._here = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and hold it. It ends with the process too, however that ends."""
        deadline = time.monotonic() + self._seconds
        ours = self._here.acquire(timeout=self._seconds)
        try:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            descriptor = -1  # a folder that one may not write to: SQLite says so better
        try:
            while descriptor >= 0 and not _locked(descriptor) and time.monotonic() < deadline:
                time.sleep(_PAUSE)
            yield
        finally:
            if descriptor >= 0:
                os.close(descriptor)
            if ours:
                self._here.release()


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
