"""Stores points and reports on PostgreSQL in parts, by the numbers of their runs.

Runs are numbered as they arrive, so all but the newest part stay as they are. An old part can therefore be written anew
while the service goes on: smaller after retention, and with the points of a series side by side, as SQLite has them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from service.store.engine.database import Database

RUNS = 1 << 18
"""Runs of a part."""
TABLES = {"point": "series_id, run_number", "report": "run_number"}
"""The divided tables, with their primary keys."""
_LOCK = 4604183
_PATIENCE = "200ms"
"""For how long readers wait at most while a part is exchanged. Where it is in use for longer, it is tried again."""
_ATTEMPTS = 600
_PAUSE = 0.1
"""Seconds between attempts."""
_PARTS = text(
    "SELECT relname, pg_get_expr(relpartbound, pg_class.oid) "
    "FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass(:table)"
)
_until: WeakKeyDictionary[Engine, int] = WeakKeyDictionary()
"""The number of the first run without a part, as far as this process knows: parts are never removed."""


class _Part(NamedTuple):
    """A part of a table.

    Attributes
    ----------
    end
        The number of the first run after it.
    bound
        Which runs it holds, as PostgreSQL writes it.
    """

    name: str
    end: int
    bound: str


def ensure_room(database: Database) -> None:
    """Make parts before runs need them: after the newest run there is room for as many as a part holds.

    Not within a transaction that writes: a part is made in a transaction of its own.
    """
    if database.is_sqlite:
        return
    with database.engine.connect() as connection:
        newest: int = connection.execute(text("SELECT last_value FROM run_number_seq")).scalar_one()
    if newest + RUNS < _until.get(database.engine, 0):
        return
    with database.engine.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        for table in TABLES:
            end = max(part.end for part in _parts(connection, table))
            while end <= newest + RUNS:
                name = f"{table}_p{end // RUNS}"
                connection.execute(text(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)"))
                bound = f"FOR VALUES FROM ({end}) TO ({end + RUNS})"
                connection.execute(text(f"ALTER TABLE {table} ATTACH PARTITION {name} {bound}"))
                end += RUNS
    _until[database.engine] = end


def first_of(number: int) -> int:
    """Return a number that stands for all runs of the same part."""
    return number // RUNS * RUNS


def rewrite(database: Database, numbers: Collection[int]) -> Iterator[int]:
    """Write the parts of some runs anew, without the space of what was deleted; yield the bytes that each has freed.

    Left out are the newest part, and the one before it, which a transaction under way may still fill. Nobody may change
    points or reports of old runs meanwhile.
    """
    if database.is_sqlite or not numbers:
        return
    with database.engine.connect() as connection:
        newest: int = connection.execute(text("SELECT coalesce(max(number), 0) FROM run")).scalar_one()
        parts = {table: _parts(connection, table) for table in TABLES}
    for table, divided in parts.items():
        ends = {min(part.end for part in divided if number < part.end) for number in set(numbers)}
        for part in divided:
            if part.end in ends and part.end + RUNS <= newest:
                yield _rewrite(database, table, part)


def _parts(connection: Connection, table: str) -> list[_Part]:
    """Return the parts of a table, the oldest first."""
    rows = connection.execute(_PARTS, {"table": table})
    parts = (_Part(name, int(bound.rpartition("(")[2].strip("')")), bound) for name, bound in rows)
    return sorted(parts, key=lambda part: part.end)


def _rewrite(database: Database, table: str, part: _Part) -> int:
    new, key = f"{part.name}_new", TABLES[table]
    with database.engine.begin() as connection:
        before = _size(connection, part.name)
        connection.execute(text(f"DROP TABLE IF EXISTS {new}"))  # of one that was interrupted
        connection.execute(text(f"CREATE TABLE {new} (LIKE {part.name} INCLUDING DEFAULTS)"))
        connection.execute(text(f"INSERT INTO {new} SELECT * FROM {part.name} ORDER BY {key}"))  # noqa: S608
        connection.execute(text(f"ALTER TABLE {new} ADD CONSTRAINT pk_{new} PRIMARY KEY ({key})"))
        # With it, the part need not be read while it takes its place.
        start = part.bound.partition("(")[2].partition(")")[0].strip("'")
        at_least = "" if start == "MINVALUE" else f"run_number >= {start} AND "
        connection.execute(text(f"ALTER TABLE {new} ADD CONSTRAINT bound CHECK ({at_least}run_number < {part.end})"))
        after = _size(connection, new)
    with database.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text(f"ANALYZE {new}"))
    for attempt in range(_ATTEMPTS):
        try:
            _exchange(database, table, part, new)
            break
        except OperationalError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE)
    return before - after


def _exchange(database: Database, table: str, part: _Part, new: str) -> None:
    with database.engine.begin() as connection:
        for statement in (
            f"SET LOCAL lock_timeout = '{_PATIENCE}'",
            f"DROP TABLE {part.name}",
            f"ALTER TABLE {new} RENAME TO {part.name}",
            f"ALTER INDEX pk_{new} RENAME TO pk_{part.name}",
            f"ALTER TABLE {table} ATTACH PARTITION {part.name} {part.bound}",
            f"ALTER TABLE {part.name} DROP CONSTRAINT bound",
        ):
            connection.execute(text(statement))


def _size(connection: Connection, table: str) -> int:
    size: int = connection.execute(
        text("SELECT pg_total_relation_size(to_regclass(:table))"), {"table": table}
    ).scalar_one()
    return size
