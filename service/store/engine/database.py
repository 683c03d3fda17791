"""The engine, and the two kinds of session: one that reads and one that writes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session

from service.errors import ServiceError
from service.store.engine import wal
from service.store.engine.deferred import Later
from service.store.engine.write_lock import Turn

BUSY_SECONDS = 20
"""How long a statement waits for another process or thread to let go of the database."""
BUSY_SECONDS_AT_START = 3
"""The same where somebody waits for the service to start."""
_WRITER = 4604180
"""Number of the lock that PostgreSQL's writers take."""
CACHE_KIB = 65536
"""Memory of each SQLite connection: a batch of runs touches a page of every series."""


class Database:
    """A database and its sessions."""

    def __init__(self, url: str, busy_seconds: float = BUSY_SECONDS) -> None:
        try:
            self.url: URL = _with_driver(make_url(url))
            self.engine: Engine = create_engine(self.url)
        except (ArgumentError, ImportError) as error:
            raise ServiceError("Not a database address", "DATABASE_URL", str(error)) from error
        self._to_read = self.engine
        self._taking_in: list[None] = []  # an entry for each who does
        self._turn: Callable[[], AbstractContextManager[None]] = nullcontext
        self._log: Later | None = None
        if self.is_sqlite and self.url.database and not self.url.database.startswith((":", "file:")):
            self._turn = Turn(Path(f"{self.url.database}-turn"), busy_seconds).taken
            self._log = Later(partial(wal.put_in_place, Path(self.url.database), self._turn), longest=wal.EVERY)
        self._later: dict[Callable[[Database], None], Later] = {}
        if self.is_sqlite:
            _prepare_sqlite(self.engine, busy_seconds)
        else:
            self._to_read = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def name(self) -> str:
        """The database as people know it: its file, or its address without the password."""
        return (self.url.database or "in memory") if self.is_sqlite else self.url.render_as_string()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session that sees one state of the database and changes nothing."""
        with Session(self._to_read) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Open a session that is committed at the end, or leaves nothing behind.

        There is one writer at a time. SQLite's write lock is taken at the start: a transaction that reads first and
        writes later cannot wait for the lock, it fails. PostgreSQL would let several write, but then any two that touch
        the same rows in another order could each wait for the other; what takes long is done outside of a transaction.
        """
        with self._turn(), self._transaction() as session:
            yield session

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        with Session(self.engine) as session, session.begin():
            connection = session.connection(execution_options={"faultwatch_write": True})
            if not self.is_sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITER})")
            yield session
        if self._log is not None:
            self._log.ask()

    @contextmanager
    def taking_in(self) -> Iterator[None]:
        """Put off what is done later, for as long as runs are taken in."""
        self._taking_in.append(None)
        try:
            yield
        finally:
            self._taking_in.pop()

    def later(self, work: Callable[[Database], None]) -> None:
        """Have work done once it is quiet."""
        if work not in self._later:
            self._later[work] = Later(lambda: work(self), lambda: bool(self._taking_in))
        self._later[work].ask()

    def close(self) -> None:
        """End what is done later, and close all connections."""
        for later in (*self._later.values(), *([self._log] if self._log else [])):
            later.stop()
        self.engine.dispose()


def _with_driver(url: URL) -> URL:
    """Name the driver of a PostgreSQL address; `postgres:` is what some tools still write."""
    return url.set(drivername="postgresql+psycopg") if url.drivername in {"postgres", "postgresql"} else url


def _prepare_sqlite(engine: Engine, busy_seconds: float) -> None:
    @event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver's guess
        connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        _use_wal(connection, time.monotonic() + busy_seconds)
        connection.execute(f"PRAGMA wal_autocheckpoint = {wal.SAFE}")
        connection.execute("PRAGMA synchronous = FULL")  # a report that was acknowledged survives a power cut

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("faultwatch_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    """Switch a new database over; SQLite does not wait for others here, so it is tried again."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
