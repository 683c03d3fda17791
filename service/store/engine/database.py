"""The database: its SQLAlchemy engine, and sessions for reading and for writing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from service.config.database_address import hide_password, parse_address
from service.store.engine import postgres_writer_order, task_locks, wal
from service.store.engine.connection_parameters import choose_engine_options
from service.store.engine.deferred_work import DeferredWork
from service.store.engine.error_codes import READ_ONLY_TRANSACTION, is_collision
from service.store.engine.private_files import correct_modes
from service.store.engine.sqlite_write_lock import WriteLock

Result = TypeVar("Result")
BUSY_SECONDS = 20
"""How long a statement waits for another process or thread to release the database."""
BUSY_SECONDS_AT_START = 3
"""The same while somebody waits for the service to start."""
CACHE_KIB = 65536
"""Size, in KiB, of the page cache of each SQLite connection: a batch of runs touches a page of every series."""


class Database:
    """A database and its sessions."""

    def __init__(self, url: str, busy_seconds: float = BUSY_SECONDS, *, checks_references: bool = True) -> None:
        """Connect to a database.

        Parameters
        ----------
        busy_seconds
            How long a writer of a SQLite file waits for its turn; without effect on PostgreSQL.
        checks_references
            Whether SQLite checks foreign keys; PostgreSQL always does.
        """
        self.url: URL = parse_address(url)
        self.engine: Engine = create_engine(self.url, **choose_engine_options(self.url))
        self._reading_engine = self.engine
        self._running_ingests: list[None] = []  # one entry for each; a list serves as a counter without a lock
        self._write_turn: Callable[[], AbstractContextManager[None]] = nullcontext
        self._checkpoints: DeferredWork | None = None
        if self.file is not None:  # The writers of a SQLite file take turns, and a thread checkpoints its log.
            self._write_turn = WriteLock(_find_file_beside(self.file, "turn"), busy_seconds).hold
            checkpoint = partial(wal.checkpoint_wal, self.file, self._write_turn)
            self._checkpoints = DeferredWork(checkpoint, longest_delay=wal.INTERVAL_SECONDS)
        self._deferred_work: dict[Callable[[Database], None], DeferredWork] = {}
        if self.is_sqlite:
            _configure_sqlite(self.engine, self.file, busy_seconds, checks_references=checks_references)
        else:
            _configure_postgresql(self.engine)
            self._reading_engine = self.engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database; None for PostgreSQL, and if it is in memory or opened through a URI."""
        name = self.url.database
        return Path(name) if self.is_sqlite and name and not name.startswith((":", "file:")) else None

    @property
    def name(self) -> str:
        """The name of the database in messages: its file, or its URL without the password."""
        return (self.url.database or "in memory") if self.is_sqlite else hide_password(self.url)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a read-only session that sees one snapshot of the database."""
        with Session(self._reading_engine) as session:
            yield session

    @contextmanager
    def writing(self, subjects: Collection[str] = ()) -> Iterator[Session]:
        """Open a session that is committed at the end, or rolled back after an exception.

        SQLite has one writer at a time. The write lock is taken at the start, because a transaction that reads first
        and writes later cannot wait for the lock: it fails. On PostgreSQL, writers of different subjects work
        concurrently; see :mod:`service.store.engine.postgres_writer_order`. Do slow work outside of the transaction.

        Parameters
        ----------
        subjects
            Names of the subjects if the session changes only their runs, series, drifts and events; empty if it may
            change anything.
        """
        with self._write_turn(), self._open_transaction(subjects) as session:
            yield session

    def write(self, subjects: Collection[str], work: Callable[[Session], Result]) -> Result:
        """Do work in a session of :meth:`writing`; return its result.

        Rows of a subject can have ids that must be unique across all subjects. If another subject's writer stores the
        same id at the same time, the work is repeated while no other writer is active.
        """
        try:
            with self.writing(subjects) as session:
                return work(session)
        except (IntegrityError, OperationalError) as error:
            if not is_collision(error):
                raise
        with self.writing() as session:
            return work(session)

    @contextmanager
    def _open_transaction(self, subjects: Collection[str]) -> Iterator[Session]:
        """Open a writing session when it is this writer's turn; on SQLite, request a checkpoint after it."""
        with Session(self.engine) as session, session.begin():
            connection = session.connection(execution_options={"faultwatch_write": True})
            if not self.is_sqlite:
                postgres_writer_order.take_turn(connection, subjects)
            yield session
        if self._checkpoints is not None:
            self._checkpoints.request()

    def run_exclusively(self, name: str) -> AbstractContextManager[bool]:
        """Return a context manager for a task that one process may run at a time; it yields whether this one may."""
        if not self.is_sqlite:
            return task_locks.hold_advisory_lock(self.engine, name)
        if self.file is not None:
            return task_locks.hold_file_lock(_find_file_beside(self.file, f"task-{name}"))
        return nullcontext(enter_result=True)  # a database in memory belongs to one process

    @contextmanager
    def ingesting(self) -> Iterator[None]:
        """Hold deferred work back while runs are ingested."""
        self._running_ingests.append(None)
        try:
            yield
        finally:
            self._running_ingests.pop()

    def defer(self, work: Callable[[Database], None]) -> None:
        """Request work in the background, which starts when no more runs arrive."""
        if work not in self._deferred_work:
            self._deferred_work[work] = DeferredWork(lambda: work(self), is_busy=lambda: bool(self._running_ingests))
        self._deferred_work[work].request()

    def close(self) -> None:
        """Stop deferred work, and close all connections."""
        for work in self._deferred_work.values():
            work.stop()
        if self._checkpoints is not None:
            self._checkpoints.stop()
        self.engine.dispose()


def _find_file_beside(file: Path, suffix: str) -> Path:
    """Return the file next to a database with the given suffix, such as its log."""
    return file.with_name(f"{file.name}-{suffix}")


def _configure_sqlite(engine: Engine, file: Path | None, busy_seconds: float, *, checks_references: bool) -> None:
    """Set the options of each SQLite connection, and begin each transaction as a reader or a writer."""

    @event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, _: Any) -> None:
        """Set the options of a new connection; SQLite stores none of them in the file except the journal mode."""
        connection.isolation_level = None  # on_begin, rather than the driver, starts transactions
        connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
        connection.execute(f"PRAGMA foreign_keys = {'ON' if checks_references else 'OFF'}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        _switch_to_wal_mode(connection, time.monotonic() + busy_seconds)
        if file is not None:
            correct_modes(file)
        connection.execute(f"PRAGMA wal_autocheckpoint = {wal.AUTOCHECKPOINT_PAGES}")
        connection.execute("PRAGMA synchronous = FULL")  # an acknowledged report survives a power cut

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("faultwatch_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


_SESSION_SETTINGS = (
    # PostgreSQL notices within a minute that this machine is gone, and releases its locks; by default, only in hours.
    *("tcp_keepalives_idle = 30", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3"),
    # Each query reads few rows through indexes: compiling it or starting parallel workers would take longer. For a
    # parallel plan, PostgreSQL would even read all runs.
    *("jit = off", "max_parallel_workers_per_gather = 0"),
    # The cost of random reads from solid-state disks or the cache.
    "random_page_cost = 1.1",
)
"""Settings of a connection to PostgreSQL, set with SET, because poolers refuse options of the connection."""


def _configure_postgresql(engine: Engine) -> None:
    """Set the options of each PostgreSQL connection, and discard connections that have become read-only."""
    from psycopg.abc import Buffer  # noqa: PLC0415 - most services have SQLite
    from psycopg.types.string import StrDumperUnknown  # noqa: PLC0415

    class TextDumper(StrDumperUnknown):
        """Replaces null characters in texts, which PostgreSQL cannot store; the output of a program can have some."""

        def dump(self, text: str) -> Buffer | None:
            """Return the text as the driver sends it."""
            return super().dump(text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text)

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _: Any) -> None:
        connection.adapters.register_dumper(str, TextDumper)
        with connection.cursor() as cursor:
            cursor.execute("; ".join(f"SET {setting}" for setting in _SESSION_SETTINGS))
        connection.commit()

    @event.listens_for(engine, "handle_error")
    def on_error(context: ExceptionContext) -> None:
        # A pooler can connect to a server that has become a standby. The next connection leads to the new primary.
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY_TRANSACTION:
            context.is_disconnect = True


def _switch_to_wal_mode(connection: sqlite3.Connection, deadline: float) -> None:
    """Switch a new database to WAL mode. SQLite's busy timeout does not apply here, so retry until the deadline."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
