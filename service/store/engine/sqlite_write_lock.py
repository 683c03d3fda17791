"""A lock for the writers of one SQLite database, in all processes.

SQLite makes waiting writers poll less and less often: under load, a writer can starve for half a minute.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_SECONDS = 0.002


class WriteLock:
    """Admits one writer at a time; a writer that has waited too long proceeds, and waits for SQLite's own lock."""

    def __init__(self, file: Path, max_seconds: float) -> None:
        self._file, self._max_seconds = file, max_seconds
        self._thread_lock = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock, or proceed without it after the longest wait; the kernel releases it when the process ends."""
        deadline = time.monotonic() + self._max_seconds
        is_acquired = self._thread_lock.acquire(timeout=self._max_seconds)
        try:
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            descriptor = -1  # the folder is read-only, which SQLite's own error explains better
        try:
            while descriptor >= 0 and not _try_lock(descriptor) and time.monotonic() < deadline:
                time.sleep(_PAUSE_SECONDS)
            yield
        finally:
            if descriptor >= 0:
                os.close(descriptor)
            if is_acquired:
                self._thread_lock.release()


def _try_lock(descriptor: int) -> bool:
    """Try to lock a file without waiting; return whether it succeeded.

    It also fails on a file system without locks: the writer then waits for SQLite's own lock.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
