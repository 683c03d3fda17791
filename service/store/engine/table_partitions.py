"""Partitions points and reports on PostgreSQL by the numbers of their runs.

Runs are numbered as they arrive, so only the newest partition changes. An old partition can therefore be rewritten
while the service runs: it becomes smaller after retention, and the points of a series become adjacent, as in SQLite.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Connection, Engine, delete, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from service.store.engine import bulk
from service.store.engine.database import Database
from service.store.models import LoosePartition, Point

RUNS_PER_PARTITION = 1 << 18
"""The number of runs of a partition."""
TABLES = {"point": "series_id, run_number", "report": "run_number"}
"""The partitioned tables, with their primary keys."""
_PARTITIONS_LOCK = 4604183
"""Number of the advisory lock for creating partitions."""
_LOCK_TIMEOUT = "100ms"
"""How long the exchange of a partition waits for its readers, and thereby blocks new ones, before it gives up."""
_MAX_ATTEMPTS = 100
"""How often the exchange of a partition is tried before the partition is left for later."""
_PAUSE_SECONDS = 1.0
"""Seconds between attempts, so that a page with many queries has to wait for at most one attempt."""
_MAX_NEIGHBOURS_PER_RUN = 10
"""The range of run numbers in one query is at most this many times the largest number of requested runs."""
_MIN_FREE_SHARE = 0.1
"""The share of a partition that must be free before it is rewritten."""
_PARTITIONS_QUERY = text(
    "SELECT relname, pg_get_expr(relpartbound, pg_class.oid) "
    "FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass(:table)"
)
_first_unpartitioned_run: WeakKeyDictionary[Engine, int] = WeakKeyDictionary()
"""The number of the first run without a partition, when this process last looked; partitions are never removed."""


class _Partition(NamedTuple):
    """A partition of a table.

    Attributes
    ----------
    end
        The number of the first run after the partition.
    bound
        The range of its runs in PostgreSQL's notation.
    """

    name: str
    end: int
    bound: str


def ensure_partitions(database: Database) -> None:
    """Create partitions before runs need them: there is always room for as many further runs as fit into a partition.

    Do not call this within a writing transaction: each partition is created in its own transaction.
    """
    if database.is_sqlite:
        return
    with database.engine.connect() as connection:
        newest_run: int = connection.execute(text("SELECT last_value FROM run_number_seq")).scalar_one()
    if newest_run + RUNS_PER_PARTITION < _first_unpartitioned_run.get(database.engine, 0):
        return
    with database.engine.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_PARTITIONS_LOCK})"))
        end = create_partitions(connection, newest_run)
    _first_unpartitioned_run[database.engine] = end


def create_partitions(connection: Connection, newest_run: int) -> int:
    """Create partitions for the runs up to a number, and for as many further runs as fit into a partition.

    Returns
    -------
    int
        The number of the first run without a partition.
    """
    # All tables have the same partitions, so ``end`` is the same for each.
    for table in TABLES:
        end = max(partition.end for partition in _list_partitions(connection, table))
        while end <= newest_run + RUNS_PER_PARTITION:
            name = f"{table}_p{end // RUNS_PER_PARTITION}"
            connection.execute(text(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)"))
            bound = f"FOR VALUES FROM ({end}) TO ({end + RUNS_PER_PARTITION})"
            connection.execute(text(f"ALTER TABLE {table} ATTACH PARTITION {name} {bound}"))
            end += RUNS_PER_PARTITION
    return end


def build_partition_conditions(session: Session, numbers: Sequence[int]) -> list[ColumnElement[bool]]:
    """Return the condition that restricts PostgreSQL to the partitions in which the given runs have points.

    Without it, PostgreSQL would read all partitions completely, rather than look up each point in every partition.

    Parameters
    ----------
    numbers
        Run numbers that are close together: see :func:`group_neighbours`.
    """
    if session.get_bind().dialect.name != "postgresql":
        return []
    return [Point.run_number.between(min(numbers), max(numbers))]


def group_neighbours(numbers: Iterable[int], max_runs: int) -> Iterator[list[int]]:
    """Split run numbers into lists of at most ``max_runs`` numbers that are close together."""
    group: list[int] = []
    for number in sorted(numbers):
        if group and (len(group) == max_runs or number - group[0] > _MAX_NEIGHBOURS_PER_RUN * max_runs):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def record_freed_space(session: Session, freed_by_run: Mapping[int, int]) -> None:
    """Record that space was freed in partitions: bytes, by the number of the run to which they belonged."""
    if session.get_bind().dialect.name != "postgresql":
        return
    freed_by_partition: Counter[int] = Counter()
    for number, size in freed_by_run.items():
        first_run = number // RUNS_PER_PARTITION * RUNS_PER_PARTITION  # of the partition that contains the run
        freed_by_partition[first_run] += size
    rows = [{"first_run": first, "freed": size} for first, size in sorted(freed_by_partition.items())]
    if rows:
        bulk.insert_or_add_rows(session, bulk.get_table(LoosePartition), rows, "freed", ["first_run"])


def reclaim_space(database: Database) -> int:
    """Rewrite partitions if this frees at least a tenth of their space; return the bytes returned to the file system.

    Partitions that are in use for minutes are left for later. The newest partition, and the one before it, to which an
    open transaction may still add rows, are never rewritten. Points and reports of old runs must not change meanwhile.
    """
    if database.is_sqlite:
        return 0
    returned_bytes = 0
    with database.engine.connect() as connection:
        newest_run: int = connection.execute(text("SELECT coalesce(max(number), 0) FROM run")).scalar_one()
        rows = connection.execute(text("SELECT first_run, freed FROM loose_part"))
        freed_by_first_run: dict[int, int] = {first_run: freed_bytes for first_run, freed_bytes in rows}  # noqa: C416 - mypy does not know that rows are pairs
        partitions = {table: _list_partitions(connection, table) for table in TABLES}
        sizes = {
            partition.name: _measure_size(connection, partition.name)
            for partitions_of_table in partitions.values()
            for partition in partitions_of_table
        }
    for partitions_of_range in zip(*partitions.values(), strict=True):  # All tables have the same partitions.
        end = partitions_of_range[0].end
        # The freed space in this range: the entries of earlier partitions have already been removed.
        first_runs = [first_run for first_run in freed_by_first_run if first_run < end]
        freed_bytes = sum(freed_by_first_run.pop(first_run) for first_run in first_runs)
        size = sum(sizes[partition.name] for partition in partitions_of_range)
        if end + RUNS_PER_PARTITION > newest_run or freed_bytes < _MIN_FREE_SHARE * size:
            continue
        results = [
            _rewrite_partition(database, table, partition)
            for table, partition in zip(partitions, partitions_of_range, strict=True)
        ]
        returned_bytes += sum(n_bytes or 0 for n_bytes in results)
        # If a partition was in use, the freed space stays recorded, so that rewriting is tried again.
        if None not in results:
            with database.writing() as session:
                session.execute(delete(LoosePartition).where(LoosePartition.first_run.in_(first_runs)))
    return returned_bytes


def _list_partitions(connection: Connection, table: str) -> list[_Partition]:
    """Return the partitions of a table, oldest first."""
    rows = connection.execute(_PARTITIONS_QUERY, {"table": table})
    # A bound is "FOR VALUES FROM ('262144') TO ('524288')".
    partitions = (_Partition(name, int(bound.rpartition("(")[2].strip("')")), bound) for name, bound in rows)
    return sorted(partitions, key=lambda partition: partition.end)


def _rewrite_partition(database: Database, table: str, partition: _Partition) -> int | None:
    """Rewrite a partition; return the number of freed bytes, or None if the partition is constantly in use."""
    new_table = f"{partition.name}_new"
    key = TABLES[table]
    with database.engine.begin() as connection:
        # Copy it.
        old_size = _measure_size(connection, partition.name)
        connection.execute(text(f"DROP TABLE IF EXISTS {new_table}"))  # left by an interrupted rewrite
        connection.execute(text(f"CREATE TABLE {new_table} (LIKE {partition.name} INCLUDING DEFAULTS)"))
        connection.execute(text(f"INSERT INTO {new_table} SELECT * FROM {partition.name} ORDER BY {key}"))  # noqa: S608
        connection.execute(text(f"ALTER TABLE {new_table} ADD CONSTRAINT pk_{new_table} PRIMARY KEY ({key})"))
        # With a check constraint on the bound, "FOR VALUES FROM ('262144') TO ('524288')", PostgreSQL need not scan the
        # table when it is attached.
        start = partition.bound.partition("(")[2].partition(")")[0].strip("'")
        lower_condition = "" if start == "MINVALUE" else f"run_number >= {start} AND "
        connection.execute(
            text(f"ALTER TABLE {new_table} ADD CONSTRAINT bound CHECK ({lower_condition}run_number < {partition.end})")
        )
        new_size = _measure_size(connection, new_table)
    with database.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text(f"ANALYZE {new_table}"))
    # Exchange it for its copy.
    for _ in range(_MAX_ATTEMPTS):
        try:
            _exchange_partition(database, table, partition, new_table)
        except OperationalError:  # a query has used the partition for longer than the lock timeout
            time.sleep(_PAUSE_SECONDS)
        else:
            return old_size - new_size
    # Remove the copy.
    with database.engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {new_table}"))
    return None


def _exchange_partition(database: Database, table: str, partition: _Partition, new_table: str) -> None:
    """Replace a partition by its rewritten copy, in one transaction."""
    with database.engine.begin() as connection:
        for statement in (
            f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'",
            f"DROP TABLE {partition.name}",
            f"ALTER TABLE {new_table} RENAME TO {partition.name}",
            f"ALTER INDEX pk_{new_table} RENAME TO pk_{partition.name}",
            f"ALTER TABLE {table} ATTACH PARTITION {partition.name} {partition.bound}",
            f"ALTER TABLE {partition.name} DROP CONSTRAINT bound",
        ):
            connection.execute(text(statement))


def _measure_size(connection: Connection, table: str) -> int:
    """Return the size of a table with its indexes, in bytes."""
    size: int = connection.execute(
        text("SELECT pg_total_relation_size(to_regclass(:table))"), {"table": table}
    ).scalar_one()
    return size
