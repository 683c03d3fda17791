"""Locks of tasks that run in one process of the service at a time.

The lock ends with the process that holds it, however that ends: SQLite's is a file beside the database, locked by the
kernel; PostgreSQL's belongs to a connection.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

_TASK_LOCKS = 4604181
"""First number of the advisory locks of tasks; the second one stands for the name."""


@contextmanager
def hold_file_lock(file: Path) -> Iterator[bool]:
    """Lock a file, if nobody has; yield whether it is locked now.

    Raises
    ------
    OSError
        The file cannot be created.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    """Lock a file without waiting; return whether that succeeded."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_advisory_lock(engine: Engine, name: str) -> Iterator[bool]:
    """Take an advisory lock of PostgreSQL, if nobody has it; yield whether it is taken now."""
    numbers = (_TASK_LOCKS, zlib.crc32(name.encode()) - 2**31)  # the second one fits into 32 bits with a sign
    # No transaction: if it were open as long as the task runs, the server could not clean up dead rows.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        is_locked = bool(connection.exec_driver_sql("SELECT pg_try_advisory_lock(%s, %s)", numbers).scalar_one())
        try:
            yield is_locked
        finally:
            if is_locked:
                try:
                    connection.exec_driver_sql("SELECT pg_advisory_unlock(%s, %s)", numbers)
                except SQLAlchemyError:
                    connection.invalidate()  # the lock ends with the connection
