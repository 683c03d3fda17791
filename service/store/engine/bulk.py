"""Writes many rows at once, in the fastest way of each database."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Connection, Dialect, Integer, Table, Text, any_, func, literal, select, text
from sqlalchemy import cast as cast_to
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import InstrumentedAttribute, Session

from service.store.models import Base, LastNumber, Run, Series

Item = TypeVar("Item")
Values = Sequence[Any]
"""The values of one row."""

MAX_PARAMETERS = 5_000
"""Maximum number of parameters of a statement: every supported database accepts as many."""


def get_table(model: type[Base]) -> Table:
    """Return the table of a model."""
    table = model.__table__
    assert isinstance(table, Table)
    return table


def insert_rows(
    session: Session,
    table: Table,
    columns: Sequence[str],
    rows: Iterable[Values],
    encoded_columns: Collection[str] = (),
) -> None:
    """Insert rows, each with a value for every column.

    Parameters
    ----------
    rows
        Values in the types of the models.
    encoded_columns
        Columns whose values are already encoded for the database.
    """
    connection = session.connection()
    converted_rows = _convert_values(connection.dialect, table, columns, rows, encoded_columns)
    names = ", ".join(f'"{column}"' for column in columns)
    if connection.dialect.name == "postgresql":
        _copy_rows(connection, f'COPY "{table.name}" ({names}) FROM STDIN', converted_rows)
        return
    for chunk in split_into_chunks(converted_rows, MAX_PARAMETERS // len(columns)):
        # One statement for many rows: executemany releases the interpreter lock at each row, and then waits for other
        # threads of this process until it gets the lock back.
        connection.exec_driver_sql(_build_insert_sql(table.name, names, len(columns), len(chunk)), tuple(chain(*chunk)))


def _copy_rows(connection: Connection, statement: str, rows: Iterable[Values]) -> None:
    """Write rows into a table of PostgreSQL with COPY, which SQLAlchemy lacks; errors are raised as SQLAlchemy's."""
    cursor: Any = connection.connection.cursor()
    errors: Any = connection.dialect.loaded_dbapi.Error
    try:
        with cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except errors as error:
        raise DBAPIError.instance(statement, None, error, errors, dialect=connection.dialect) from error


def update_rows(
    session: Session,
    table: Table,
    columns: Sequence[str],
    rows: Iterable[Values],
    *,
    encoded_columns: Collection[str] = (),
    key: Sequence[str] = ("id",),
) -> None:
    """Update columns of rows; each row consists of the values of its key, then a value for every column.

    Parameters
    ----------
    encoded_columns
        Columns whose values are already encoded for the database.
    key
        The columns by which a row is found.
    """
    connection = session.connection()
    names = (*key, *columns)
    converted_rows = list(_convert_values(connection.dialect, table, names, rows, encoded_columns))
    if connection.dialect.name == "postgresql":
        # One statement for all rows: planning takes longer than changing a row, especially for a partitioned table.
        if converted_rows:
            statement = _build_array_update_sql(connection.dialect, table, tuple(key), tuple(columns))
            connection.exec_driver_sql(statement, tuple(map(list, zip(*converted_rows, strict=True))))
        return
    for chunk in split_into_chunks(converted_rows, MAX_PARAMETERS // len(names)):
        statement = _build_update_sql(table.name, tuple(key), tuple(columns), len(chunk))
        connection.exec_driver_sql(statement, tuple(chain(*chunk)))


def insert_missing_rows(session: Session, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert the rows that violate no unique constraint; other writers may insert the same rows at the same time."""
    if rows:
        session.execute(_choose_insert(session)(table).on_conflict_do_nothing(), list(rows))


def insert_or_add_rows(
    session: Session, table: Table, rows: Sequence[dict[str, Any]], column: str, key: Sequence[str]
) -> None:
    """Insert rows; if a row with the same key exists, add to one of its columns instead.

    Parameters
    ----------
    column
        The column to which the value of the new row is added.
    key
        The columns of a unique key.
    """
    session.connection().execute(_build_adding_insert(_choose_insert(session), table, column, tuple(key)), list(rows))


def insert_or_replace_rows(session: Session, table: Table, rows: Sequence[dict[str, Any]], key: Sequence[str]) -> None:
    """Insert rows; if a row with the same key exists, replace its other columns."""
    if rows:
        statement = _choose_insert(session)(table)
        replaced_values = {name: statement.excluded[name] for name in rows[0] if name not in key}
        session.connection().execute(
            statement.on_conflict_do_update(index_elements=list(key), set_=replaced_values), list(rows)
        )


@lru_cache(maxsize=16)
def _build_adding_insert(insert_into: Callable[[Table], Any], table: Table, column: str, key: tuple[str, ...]) -> Any:
    """Return the statement that inserts a row, or if it exists, adds to one of its columns."""
    statement = insert_into(table)
    total = {column: table.c[column] + statement.excluded[column]}
    return statement.on_conflict_do_update(index_elements=list(key), set_=total)


def _choose_insert(session: Session) -> Any:
    """Return this database's function for an INSERT statement into a table, which may have a clause for conflicts."""
    return postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert


def reserve_run_numbers(session: Session, n_runs: int) -> list[int]:
    """Reserve numbers for new runs, in ascending order."""
    if session.get_bind().dialect.name == "postgresql":
        reserved = text("SELECT nextval('run_number_seq') FROM generate_series(1, :n_runs)")
        return sorted(session.scalars(reserved, {"n_runs": n_runs}))
    return _allocate_numbers(session, Run.number, n_runs)


def reserve_series_ids(session: Session, n_series: int) -> list[int] | None:
    """Return the ids of new series; None if the database chooses them and never reuses one."""
    if session.get_bind().dialect.name == "postgresql":
        return None
    return _allocate_numbers(session, Series.id, n_series)


def _allocate_numbers(session: Session, column: InstrumentedAttribute[int], n_numbers: int) -> list[int]:
    """Return numbers above all numbers ever allocated. No lock is needed, because SQLite has only one writer."""
    kind = column.class_.__tablename__
    # `LastNumber` holds the highest number before the last deletion, which may have removed the row with that number.
    last_number = session.scalar(select(LastNumber.number).where(LastNumber.kind == kind)) or 0
    highest_number = max(last_number, session.scalar(select(func.max(column))) or 0)
    return list(range(highest_number + 1, highest_number + 1 + n_numbers))


def remember_last_numbers(session: Session) -> None:
    """Remember the highest numbers of runs and series before a deletion, so that no number is reused."""
    rows = []
    for column in (Run.number, Series.id):
        (next_number,) = _allocate_numbers(session, column, 1)
        rows.append({"kind": column.class_.__tablename__, "number": next_number - 1})
    insert_or_replace_rows(session, get_table(LastNumber), rows, ["kind"])


def is_among(session: Session, column: InstrumentedAttribute[int], numbers: Iterable[int]) -> ColumnElement[bool]:
    """Return the condition that a column has one of the given integers, which are passed as a single parameter."""
    if session.get_bind().dialect.name == "postgresql":
        # Pass them as text, because the driver writes an array number by number, which takes ten times as long.
        return column == any_(cast_to(literal(f"{{{','.join(map(str, numbers))}}}", Text), postgresql.ARRAY(Integer)))
    return column.in_(select(func.json_each(json.dumps(list(numbers))).table_valued("value").c.value))


def split_into_chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Split into lists of at most ``size`` items."""
    remaining_items = iter(items)
    while chunk := list(islice(remaining_items, size)):
        yield chunk


@lru_cache(maxsize=64)
def _build_insert_sql(table_name: str, names: str, n_columns: int, n_rows: int) -> str:
    """Return SQLite's statement for inserting a number of rows with a number of columns."""
    row = f"({', '.join('?' * n_columns)})"
    return f'INSERT INTO "{table_name}" ({names}) VALUES {", ".join([row] * n_rows)}'  # noqa: S608 - not user input


@lru_cache(maxsize=64)
def _build_update_sql(table_name: str, key: tuple[str, ...], columns: tuple[str, ...], n_rows: int) -> str:
    """Return SQLite's statement for updating many rows at once."""
    row = f"({', '.join('?' * (len(key) + len(columns)))})"
    return (
        f"WITH new ({', '.join((*key, *columns))}) AS (VALUES {', '.join([row] * n_rows)}) "  # noqa: S608 - no user input
        f'UPDATE "{table_name}" SET {_join_assignments(columns)} FROM new WHERE {_build_match(table_name, key)}'
    )


def _build_array_update_sql(dialect: Dialect, table: Table, key: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Return PostgreSQL's statement for updating many rows at once from arrays of values."""
    names = (*key, *columns)
    arrays = ", ".join(f"CAST(%s AS {table.c[name].type.compile(dialect)}[])" for name in names)
    return (
        f'UPDATE "{table.name}" SET {_join_assignments(columns)} '  # noqa: S608 - not user input
        f"FROM unnest({arrays}) AS new ({', '.join(names)}) WHERE {_build_match(table.name, key)}"
    )


def _join_assignments(columns: Iterable[str]) -> str:
    """Return the clause that sets columns to the values of a new row."""
    return ", ".join(f"{name} = new.{name}" for name in columns)


def _build_match(table_name: str, key: Iterable[str]) -> str:
    """Return the condition that a row has the key of a new row."""
    return " AND ".join(f'"{table_name}".{name} = new.{name}' for name in key)


def _convert_values(
    dialect: Dialect, table: Table, columns: Sequence[str], rows: Iterable[Values], encoded_columns: Collection[str]
) -> Iterable[Values]:
    """Convert the values of rows by the types of their columns.

    The rows are turned into columns and back, because a column is converted faster as a whole than value by value.
    """
    converters = [None if name in encoded_columns else _find_converter(dialect, table, name) for name in columns]
    if not any(converters):
        return rows
    return zip(
        *(
            values if converter is None else map(converter, values)
            # Not strict: without rows there are no columns of values.
            for values, converter in zip(zip(*rows, strict=True), converters, strict=False)
        ),
        strict=True,
    )


def _find_converter(dialect: Dialect, table: Table, column: str) -> Callable[[Any], Any] | None:
    """Return the function that encodes a value of a column for the database; None if it is stored as it is."""
    kind = table.c[column].type
    return cast(Callable[[Any], Any] | None, kind.dialect_impl(dialect).bind_processor(dialect))
