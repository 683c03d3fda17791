"""Deletes a subject with all of its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import ColumnElement, ForeignKey, FromClause, Table, delete, func, select

from service.store import shared_rows
from service.store.engine import bulk, table_partitions
from service.store.engine.database import Database
from service.store.maintenance.retention import hold_retention_lock
from service.store.models import Base, Job, Point, Run, Series, StoredReport, Subject

_SERIES_PER_TRANSACTION = 200
_RUNS_PER_TRANSACTION = 2_000
"""In one transaction, the points of so many series, or so many reports or runs, are deleted."""
_BYTES_PER_RUN = 2_000
"""Approximate size of a run with its report and its points, in bytes."""


def count_stored_rows(database: Database, name: str) -> Mapping[str, int]:
    """Return, for each table, how many rows belong to a subject alone; empty if the subject is unknown."""
    with database.reading() as session:
        subject = shared_rows.find_subject(session, name)
        if subject is None:
            return {}
        owned_tables = _list_owned_tables()
        conditions: dict[str, tuple[FromClause, ColumnElement[bool]]] = {
            table.name: (table, _select_rows_of_subject(table, owned_tables, subject.id)) for table in owned_tables
        }
        conditions["job"] = (Job.__table__, Job.subject == name)
        return {
            table_name: session.scalar(select(func.count()).select_from(table).where(condition)) or 0
            for table_name, (table, condition) in conditions.items()
        }


def delete_subject(
    database: Database, name: str, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> None:
    """Delete a subject, except its hosts, cases and environments, which other subjects may share.

    Points, reports and runs are deleted in several transactions, so that writers of other subjects need not wait long.
    After an interruption, the next call continues.

    Parameters
    ----------
    database
        The database, opened without checks of references: with them, SQLite would read all points for each run.
    progress
        Called with the number of series and runs done and the total number.

    Raises
    ------
    ServiceError
        If another process is shrinking or deleting old runs.
    """
    with hold_retention_lock(database):
        _delete_rows(database, name, progress)


def _delete_rows(database: Database, name: str, progress: Callable[[int, int], None]) -> None:
    """Delete all rows that belong only to a subject; do nothing if the subject is unknown.

    Points, reports and runs are deleted in several transactions, then everything else.
    """
    # Find the rows of the subject.
    with database.reading() as session:
        subject = shared_rows.find_subject(session, name)
        if subject is None:
            return
        subject_id = subject.id
        series = list(session.scalars(select(Series.id).where(Series.subject_id == subject_id)))
        runs = list(session.scalars(select(Run.number).where(Run.subject_id == subject_id)))
    with database.writing() as session:
        bulk.remember_last_numbers(session)
    # Delete points, reports and runs in several transactions, because there are many.
    owned_tables = _list_owned_tables()
    n_done = 0
    total = len(series) + 2 * len(runs)  # each run counts once for its report and once for itself
    for model, column, numbers, chunk_size in (
        (Point, Point.series_id, series, _SERIES_PER_TRANSACTION),
        (StoredReport, StoredReport.run_number, runs, _RUNS_PER_TRANSACTION),
        (Run, Run.number, runs, _RUNS_PER_TRANSACTION),
    ):
        for chunk in bulk.split_into_chunks(numbers, chunk_size):
            with database.writing([name]) as session:
                session.execute(delete(model).where(bulk.is_among(session, column, chunk)))
                if model is Run:
                    table_partitions.record_freed_space(session, dict.fromkeys(chunk, _BYTES_PER_RUN))
            n_done += len(chunk)
            progress(n_done, total)
    # Delete everything else in one transaction: without the subject, the next call would delete nothing.
    with database.writing() as session:
        for table in reversed(owned_tables):
            session.execute(delete(table).where(_select_rows_of_subject(table, owned_tables, subject_id)))
        session.execute(delete(Job).where(Job.subject == name))
        session.execute(delete(Subject).where(Subject.id == subject_id))
    table_partitions.reclaim_space(database)


def _list_owned_tables() -> dict[Table, ForeignKey]:
    """Return the tables whose rows each belong to one subject, with the foreign key that leads to it.

    Tables come after the tables to which they refer.
    """
    owned_tables: dict[Table, ForeignKey] = {}
    for table in Base.metadata.sorted_tables:
        keys = [key for column in table.columns for key in column.foreign_keys]
        # The reference to the subject itself, or else to another table whose rows each belong to one subject.
        keys_to_subject = [key for key in keys if key.column.table is Subject.__table__]
        keys_to_owned = [key for key in keys if key.column.table in owned_tables]
        if keys_to_subject or keys_to_owned:
            owned_tables[table] = (keys_to_subject or keys_to_owned)[0]
    return owned_tables


def _select_rows_of_subject(
    table: Table, owner_keys: Mapping[Table, ForeignKey], subject_id: int
) -> ColumnElement[bool]:
    """Return the condition that a row of a table belongs to a subject."""
    key = owner_keys[table]
    parent = key.column.table
    if parent is Subject.__table__:
        return key.parent == subject_id
    return key.parent.in_(select(key.column).where(_select_rows_of_subject(parent, owner_keys, subject_id)))
