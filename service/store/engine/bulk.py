"""Many rows at once, the way each database takes them fastest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar, cast

from sqlalchemy import Dialect, Table, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.store.models import Run

Item = TypeVar("Item")
Row = Sequence[Any]

MOST_PARAMETERS = 5_000
"""Of one statement: every database takes as many."""


def insert(
    session: Session, table: Table, columns: Sequence[str], rows: Iterable[Row], written: Collection[str] = ()
) -> None:
    """Insert rows, each with a value for every column.

    Parameters
    ----------
    rows
        Values as the models would have them.
    written
        Columns whose values are as the database holds them already.
    """
    connection = session.connection()
    converted = _converted(connection.dialect, table, columns, rows, written)
    names = ", ".join(columns)
    if connection.dialect.name == "postgresql":
        raw: Any = connection.connection.cursor()
        with raw, raw.copy(f'COPY "{table.name}" ({names}) FROM STDIN') as copy:
            for row in converted:
                copy.write_row(row)
        return
    for chunk in chunks(converted, MOST_PARAMETERS // len(columns)):
        # One statement for many rows: executemany gives up the interpreter's lock at each of them, and waits to get it
        # back from whatever else this process does.
        connection.exec_driver_sql(_insertion(table.name, names, len(columns), len(chunk)), tuple(chain(*chunk)))


def update(
    session: Session, table: Table, columns: Sequence[str], rows: Iterable[Row], written: Collection[str] = ()
) -> None:
    """Set columns of the rows with given ids; each row has its id first, then a value for every column."""
    connection = session.connection()
    converted = _converted(connection.dialect, table, ("id", *columns), rows, written)
    if connection.dialect.name == "postgresql":
        setting = ", ".join(f"{name} = %s" for name in columns)
        changes = [(*row[1:], row[0]) for row in converted]
        if changes:
            connection.exec_driver_sql(f'UPDATE "{table.name}" SET {setting} WHERE id = %s', changes)  # noqa: S608
        return
    for chunk in chunks(converted, MOST_PARAMETERS // (len(columns) + 1)):
        connection.exec_driver_sql(_change(table.name, tuple(columns), len(chunk)), tuple(chain(*chunk)))


def insert_unless_there(session: Session, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows but those that are there already, by any unique constraint; other writers may do the same."""
    make: Any = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    if rows:
        session.execute(make(table).on_conflict_do_nothing(), list(rows))


def insert_or_add(
    session: Session, table: Table, rows: Sequence[dict[str, Any]], column: str, key: Sequence[str]
) -> None:
    """Insert rows; where there is one with this key, add to one of its columns instead."""
    make: Any = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    new = make(table)
    total = {column: table.c[column] + new.excluded[column]}
    session.connection().execute(new.on_conflict_do_update(index_elements=list(key), set_=total), list(rows))


def new_numbers(session: Session, count: int) -> list[int]:
    """Return numbers for new runs, in order; nobody else gets them."""
    if session.get_bind().dialect.name == "postgresql":
        taken = text("SELECT nextval('run_number_seq') FROM generate_series(1, :count)")
        return sorted(session.scalars(taken, {"count": count}))
    last = session.scalar(select(func.max(Run.number))) or 0  # SQLite has one writer, and this is it
    return list(range(last + 1, last + 1 + count))


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Cut into lists of at most this size."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


@lru_cache(maxsize=64)
def _insertion(table: str, names: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f'INSERT INTO "{table}" ({names}) VALUES {", ".join([row] * rows)}'  # noqa: S608 - our own names


@lru_cache(maxsize=64)
def _change(table: str, columns: tuple[str, ...], rows: int) -> str:
    row = f"({', '.join('?' * (len(columns) + 1))})"
    setting = ", ".join(f"{name} = new.{name}" for name in columns)
    return (
        f"WITH new (id, {', '.join(columns)}) AS (VALUES {', '.join([row] * rows)}) "  # noqa: S608 - our own names
        f'UPDATE "{table}" SET {setting} FROM new WHERE "{table}".id = new.id'
    )


def _converted(
    dialect: Dialect, table: Table, columns: Sequence[str], rows: Iterable[Row], written: Collection[str]
) -> Iterable[Row]:
    """Convert values as the types of the columns want it."""
    processors = [None if name in written else _processor(dialect, table, name) for name in columns]
    if not any(processors):
        return rows
    return zip(
        *(
            values if processor is None else map(processor, values)
            for values, processor in zip(zip(*rows, strict=True), processors, strict=False)
        ),
        strict=True,
    )


def _processor(dialect: Dialect, table: Table, column: str) -> Callable[[Any], Any] | None:
    kind = table.c[column].type
    return cast(Callable[[Any], Any] | None, kind.dialect_impl(dialect).bind_processor(dialect))
