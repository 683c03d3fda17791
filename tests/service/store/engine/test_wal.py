"""Checkpoints of SQLite's write-ahead log in the background."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from service.store.engine import wal
from service.store.engine.database import Database


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database with a writer that makes no checkpoints."""
    with closing(sqlite3.connect(tmp_path / "a b?.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE line (text TEXT)")
        yield connection


def write(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO line VALUES (?)", ["x" * 100_000])


def in_log(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the pages in the log, and how many of them are in the database file."""
    _, pages, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return pages, copied


def test_a_short_log_is_copied_and_not_restarted(connection: sqlite3.Connection, tmp_path: Path) -> None:
    file = tmp_path / "a b?.db"
    write(connection)
    before = file.stat().st_size
    wal.checkpoint_wal(file, nullcontext)
    assert file.stat().st_size > before
    assert in_log(connection)[0] > 0


def test_a_long_log_is_restarted(
    connection: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "RESTART_PAGES", 10)
    for _ in range(3):
        write(connection)
    long, _ = in_log(connection)
    wal.checkpoint_wal(tmp_path / "a b?.db", nullcontext)
    write(connection)
    assert in_log(connection)[0] < long


def test_a_reader_keeps_its_snapshot(
    connection: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "RESTART_PAGES", 10)
    file = tmp_path / "a b?.db"
    write(connection)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM line").fetchone() == (1,)
        write(connection)
        wal.checkpoint_wal(file, nullcontext)
        assert reader.execute("SELECT count(*) FROM line").fetchone() == (1,)
    assert connection.execute("SELECT count(*) FROM line").fetchone() == (2,)


def test_a_database_held_by_another_connection_is_left_for_the_next_checkpoint(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    file = tmp_path / "a b?.db"
    connection.close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        write(other)
        wal.checkpoint_wal(file, nullcontext)
        assert other.execute("SELECT count(*) FROM line").fetchone() == (1,)


def test_a_deleted_database_is_not_created_again(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        wal.checkpoint_wal(tmp_path / "gone.db", nullcontext)
    assert not (tmp_path / "gone.db").exists()


def test_writers_do_not_checkpoint(database: Database) -> None:
    with database.reading() as session:
        limit = session.connection().exec_driver_sql("PRAGMA wal_autocheckpoint").scalar()
    assert limit == wal.AUTOCHECKPOINT_PAGES
