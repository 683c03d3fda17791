"""Updates the statistics with which PostgreSQL plans queries of the partitioned tables.

Autovacuum analyses each partition, but never the whole table. Without statistics of the whole table, PostgreSQL guesses
how many rows a series or a run has in all partitions together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from service.store.engine import table_partitions
from service.store.engine.database import Database

MAX_AGE = timedelta(days=1)
"""A table with new rows is analysed again after this time, because most queries ask for the newest runs."""
_MIN_NEW_ROWS, _MIN_GROWTH = 50, 0.1
"""A table is due if it has grown by this number of rows plus this share: autovacuum's defaults for other tables."""
_STATISTICS_QUERY = text(
    "SELECT whole.reltuples, stat.last_analyze, coalesce(sum(held.n_live_tup), 0), "
    "coalesce(bool_or(held.n_mod_since_analyze > 0 OR held.last_autoanalyze > stat.last_analyze), false), now() "
    "FROM pg_class AS whole LEFT JOIN pg_stat_all_tables AS stat ON stat.relid = whole.oid "
    "JOIN pg_inherits ON inhparent = whole.oid JOIN pg_stat_all_tables AS held ON held.relid = inhrelid "
    "WHERE whole.oid = to_regclass(:table) GROUP BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The state of a partitioned table.

    Attributes
    ----------
    analysed_rows
        Its number of rows when it was analysed; negative if it has never been analysed.
    analysed_at
        The time of the last analysis; None if there was none, or if a crash of the server lost the time.
    rows
        Its approximate number of rows now.
    has_changes
        Whether any row has been stored or changed since then.
    now
        The time of the server.
    """

    analysed_rows: float
    analysed_at: datetime | None
    rows: int
    has_changes: bool
    now: datetime


def is_due(statistics: Statistics) -> bool:
    """Return whether a table should be analysed now."""
    if statistics.analysed_rows < 0:
        return statistics.rows > 0
    if statistics.rows > statistics.analysed_rows * (1 + _MIN_GROWTH) + _MIN_NEW_ROWS:
        return True
    return statistics.has_changes and (
        statistics.analysed_at is None or statistics.now - statistics.analysed_at >= MAX_AGE
    )


def analyse_due_tables(database: Database) -> list[str]:
    """Analyse the partitioned tables that are due; return their names.

    The caller ensures that only one process calls this at a time. ANALYZE reads a sample of each partition, at the pace
    of autovacuum, and skips locked partitions. Only the creation of a partition has to wait for it, until the sample of
    the whole table is drawn.
    """
    if database.is_sqlite:
        return []
    analysed_tables = []
    # Without an open transaction, ANALYZE commits after each partition.
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in table_partitions.TABLES:
            row = connection.execute(_STATISTICS_QUERY, {"table": table}).one_or_none()
            if row is None or not is_due(Statistics(*row)):
                continue
            connection.execute(text("SET vacuum_cost_delay = '2ms'"))
            try:
                connection.execute(text(f"ANALYZE (SKIP_LOCKED) {table}"))
            finally:
                connection.execute(text("RESET vacuum_cost_delay"))
            analysed_tables.append(table)
    return analysed_tables
