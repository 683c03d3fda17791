"""The order in which writers of PostgreSQL take turns.

A writer changes either the rows of one or more subjects, or everything. Writers of different subjects work
concurrently. A writer of everything works alone, for milliseconds.

To avoid deadlocks, every writer first takes its locks in a fixed order: the lock of everything (shared, or exclusive
for a writer of everything), then the locks of its subjects by number. Rows of a subject are changed only under its
lock. The rows that subjects share (hosts, cases, environments) are only ever added, table by table and in the order of
their keys, so that writers who add the same rows cannot wait for each other in a cycle. Ids that senders choose, such
as those of runs, can still collide: :meth:`service.store.engine.database.Database.write` then lets one of the writers
try again, alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from sqlalchemy import Connection

_EVERYTHING_LOCK = 4604180
"""Number of the lock of everything: any number that no other program uses in this database."""
_SUBJECTS_LOCK = 4604182
"""First number of the locks of subjects; the second is a hash of the name. Writers of two names with the same hash
merely wait for each other."""


def take_turn(connection: Connection, subjects: Iterable[str]) -> None:
    """Wait for the turn of a writer, which lasts until its transaction ends.

    Parameters
    ----------
    subjects
        The names of the writer's subjects; an empty collection for everything.
    """
    numbers = sorted({zlib.crc32(name.encode()) - 2**31 for name in subjects})  # signed 32-bit integers
    # Writers of some subjects share the lock of everything; a writer of everything takes it exclusively.
    shared = "_shared" if numbers else ""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{shared}({_EVERYTHING_LOCK})")
    for number in numbers:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s, %s)", (_SUBJECTS_LOCK, number))
