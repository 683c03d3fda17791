"""Locks of tasks that only one process of the service may run at a time.

A lock ends with the process that holds it, however the process ends: for SQLite, it is a kernel lock on a file next to
the database; for PostgreSQL, it belongs to a connection.
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
"""First number of the advisory locks of tasks; the second is a hash of the name."""


@contextmanager
def hold_file_lock(file: Path) -> Iterator[bool]:
    """Lock a file unless somebody else has; yield whether this caller has the lock.

    Raises
    ------
    OSError
        If the file cannot be created.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    """Try to lock a file without waiting; return whether it succeeded."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_advisory_lock(engine: Engine, name: str) -> Iterator[bool]:
    """Take an advisory lock of PostgreSQL unless somebody else has it; yield whether this caller has the lock."""
    numbers = (_TASK_LOCKS, zlib.crc32(name.encode()) - 2**31)  # signed 32-bit integers
    # Without a transaction: if one were open while the task runs, the server could not clean up dead rows.
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
