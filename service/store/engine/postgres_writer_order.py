"""The order in which writers of PostgreSQL take turns.

A writer has either one or more subjects, or everything. Writers of different subjects work side by side. A writer of
everything works alone, for milliseconds.

Every writer takes its locks first, in one order: the lock of everything, shared or not, then those
of its subjects by number. Rows of a subject are changed under its lock only. The rows that subjects share (hosts,
cases, environments) are only ever added, table after table and by key, so that two writers who add the same ones wait
for each other in one direction. What is left are identities that senders choose, such as those of runs: two writers who
store the same one collide, and :meth:`service.store.engine.database.Database.write` lets one of them try again, alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from sqlalchemy import Connection

_EVERYTHING_LOCK = 4604180
"""Number of the lock of everything: any number will do that no other program uses in this database."""
_SUBJECTS_LOCK = 4604182
"""First number of the locks of subjects; the second one stands for the name. Two names that share a number merely wait
for each other."""


def take_turn(connection: Connection, subjects: Iterable[str]) -> None:
    """Wait for the turn of a writer, which lasts until its transaction ends.

    Parameters
    ----------
    subjects
        The names of the writer's subjects; an empty collection for everything.
    """
    numbers = sorted({zlib.crc32(name.encode()) - 2**31 for name in subjects})  # 32 bits with a sign
    # A writer of some subjects shares the lock of everything, a writer of everything has it alone.
    shared = "_shared" if numbers else ""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{shared}({_EVERYTHING_LOCK})")
    for number in numbers:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s, %s)", (_SUBJECTS_LOCK, number))
