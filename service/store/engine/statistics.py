"""Keeps the statistics from which PostgreSQL plans questions about the divided tables.

Autovacuum analyses each part, and never the whole table. Without statistics of the whole table, PostgreSQL guesses how
many rows a series or a run has in all parts together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from service.store.engine import table_partitions
from service.store.engine.database import Database

MAX_AGE = timedelta(days=1)
"""After which a table is analysed again, where anything was stored since: the newest runs are asked for most."""
_LEAST_ROWS, _GROWTH = 50, 0.1
"""The table has so many rows more than when it was analysed: what autovacuum asks of a table that is not divided."""
_QUESTION = text(
    "SELECT whole.reltuples, stat.last_analyze, coalesce(sum(held.n_live_tup), 0), "
    "coalesce(bool_or(held.n_mod_since_analyze > 0 OR held.last_autoanalyze > stat.last_analyze), false), now() "
    "FROM pg_class AS whole LEFT JOIN pg_stat_all_tables AS stat ON stat.relid = whole.oid "
    "JOIN pg_inherits ON inhparent = whole.oid JOIN pg_stat_all_tables AS held ON held.relid = inhrelid "
    "WHERE whole.oid = to_regclass(:table) GROUP BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of a divided table.

    Attributes
    ----------
    analysed_rows
        Its rows when it was analysed; negative where it never was.
    analysed_at
        When that was; None if it never was, or where a crash of the server made it forget.
    rows
        Its rows now, roughly.
    has_new
        Whether any row was stored or changed since.
    now
        The time of the server.
    """

    analysed_rows: float
    analysed_at: datetime | None
    rows: int
    has_new: bool
    now: datetime


def is_due(statistics: Statistics) -> bool:
    """Return whether a table is worth being analysed."""
    if statistics.analysed_rows < 0:
        return statistics.rows > 0
    if statistics.rows > statistics.analysed_rows * (1 + _GROWTH) + _LEAST_ROWS:
        return True
    return statistics.has_new and (statistics.analysed_at is None or statistics.now - statistics.analysed_at >= MAX_AGE)


def analyse_due_tables(database: Database) -> list[str]:
    """Analyse the divided tables of which that is due; return their names. One process at a time does it.

    Nobody waits for it, but who makes a part: that lasts until the sample of the whole table is drawn. It reads a
    sample of each part, at the pace of autovacuum, and leaves out what somebody else has locked.
    """
    if database.is_sqlite:
        return []
    analysed = []
    # Without a transaction of ours, ANALYZE commits after each part.
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in table_partitions.TABLES:
            row = connection.execute(_QUESTION, {"table": table}).one_or_none()
            if row is None or not is_due(Statistics(*row)):
                continue
            connection.execute(text("SET vacuum_cost_delay = '2ms'"))
            try:
                connection.execute(text(f"ANALYZE (SKIP_LOCKED) {table}"))
            finally:
                connection.execute(text("RESET vacuum_cost_delay"))
            analysed.append(table)
    return analysed
