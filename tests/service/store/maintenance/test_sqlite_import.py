"""Restores a backup of SQLite into PostgreSQL, as who outgrows SQLite does."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Enum,
    Float,
    Integer,
    LargeBinary,
    String,
    TypeDecorator,
    Uuid,
    insert,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError

from service.app import create_app
from service.config.settings import Config
from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.engine.table_partitions import RUNS_PER_PARTITION
from service.store.engine.upgrade import upgrade_database
from service.store.maintenance.backup import backup_database, restore_database
from service.store.models import Base, Exact
from service.web import app_resources
from tests.service import postgres, reports
from tests.service.apiclient import Api
from tests.service.store import later_version


@pytest.fixture
def target(postgresql: postgres.Server) -> Iterator[Database]:
    name = postgresql.create()
    with psycopg.connect(postgresql.url(name), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET timezone = 'Asia/Tokyo'".encode())
    database = Database(postgresql.url(name))
    yield database
    database.close()


def rows(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Return all that a database has, by table."""
    with database.reading() as session:
        return {
            name: sorted(map(tuple, session.execute(select(table))), key=repr)
            for name, table in Base.metadata.tables.items()
        }


TEXT = "a\tb\\N 'c' \"d\" {e}\r\nf ü 漢 🙂 %s"


def any_value(column: Column[Any], number: int) -> object:
    """Return a value for a column that a careless copy would change, of one of two rows in each table."""
    for reference in column.foreign_keys:
        return any_value(reference.column, number)
    if column.primary_key and isinstance(column.type, Integer):
        return number
    if column.nullable and number == 2:
        return None
    kind = column.type
    if isinstance(kind, Exact):
        return (2**70 + number, 5e-324)[number - 1]
    if isinstance(kind, Enum):
        return next(iter(kind.enum_class or kind.enums))
    values: dict[type, object] = {
        Boolean: number == 1,
        DateTime: datetime(1969, 12, 31, 23, 59, 59, number, UTC),
        Float: -0.1 * number,
        Integer: 2**31 - number,
        JSON: {"text": TEXT, "none": None, "number": 1.0},
        LargeBinary: bytes(range(256)),
        Uuid: UUID(int=number),
        String: f"{number}{TEXT}"[: getattr(kind, "length", None)],
    }
    impl = kind.impl_instance if isinstance(kind, TypeDecorator) else kind
    return next(value for known, value in values.items() if isinstance(impl, known))


def test_every_table_arrives_as_it_was(tmp_path: Path, target: Database) -> None:
    source = Database(f"sqlite:///{tmp_path / 'own.db'}", checks_references=False)
    upgrade_database(source)
    with source.writing() as session:
        for table in Base.metadata.sorted_tables:
            for number in (1, 2):
                values = {column.name: any_value(column, number) for column in table.columns}
                session.execute(insert(table).values(values))
    before = rows(source)
    assert all(len(found) == 2 for found in before.values())
    backup_database(source, tmp_path / "copy")
    source.close()
    shown: list[tuple[int, int]] = []
    restore_database(target, tmp_path / "copy", progress=lambda done, total: shown.append((done, total)))
    assert rows(target) == before
    assert shown[-1] == (2 * len(before), 2 * len(before))


def test_a_service_goes_on_where_it_was(api: Api, database: Database, tmp_path: Path, target: Database) -> None:
    api.send(*(reports.report(number, 100 if number < 5 else 200) for number in range(1, 9)))
    (drift,) = api.drifts()
    backup_database(database, tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy")) as copy, copy:
        # As where there were many runs, of which the newest ones are deleted.
        for table, column in (("run", "number"), ("point", "run_number"), ("report", "run_number")):
            copy.execute(f"UPDATE {table} SET {column} = {column} + {3 * RUNS_PER_PARTITION - 5}")
        copy.execute(f"INSERT INTO last_number VALUES ('run', {5 * RUNS_PER_PARTITION})")
    restore_database(target, tmp_path / "copy")
    upgrade_database(target)
    address = target.url.render_as_string(hide_password=False)
    app = create_app(Config.from_environment({"FAULTWATCH_HOME": str(tmp_path / "other"), "DATABASE_URL": address}))
    moved = Api(app.test_client())
    assert moved.drifts() == [drift]
    assert moved.send_each(reports.report(9, 300), reports.report(8, 200)) == [201, 201]
    assert [point["value"] for point in moved.series()["points"]] == [100] * 4 + [200] * 5 + [300]
    with app.app_context():
        app_resources.get_database().close()
    with target.reading() as session:
        assert session.scalar(text("SELECT max(number) FROM run")) == 5 * RUNS_PER_PARTITION + 2
        assert session.scalar(text("SELECT count(*) FROM point_p2")) == 4


def test_references_are_checked_afterwards(api: Api, database: Database, tmp_path: Path, target: Database) -> None:
    api.send(reports.report(1, 100))
    backup_database(database, tmp_path / "copy")
    restore_database(target, tmp_path / "copy")
    with pytest.raises(IntegrityError), target.writing() as session:
        session.execute(text("DELETE FROM subject"))


def test_a_backup_that_cannot_be_loaded_leaves_the_database_alone(
    api: Api, database: Database, tmp_path: Path, target: Database
) -> None:
    api.send(reports.report(1, 100))
    backup_database(database, tmp_path / "copy")
    restore_database(target, tmp_path / "copy")
    before = rows(target)
    with pytest.raises(ServiceError, match="--replace"):
        restore_database(target, tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy")) as copy, copy:
        copy.execute("UPDATE run SET host_id = 77")
    with pytest.raises(ServiceError, match=r"cannot be loaded.*host_id"):
        restore_database(target, tmp_path / "copy", replace=True)
    assert rows(target) == before


def test_an_older_backup_is_upgraded_on_the_way(
    tmp_path: Path, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Database(f"sqlite:///{tmp_path / 'own.db'}")
    upgrade_database(older)
    with older.writing() as session:
        session.execute(text("INSERT INTO subject (name) VALUES ('demo')"))
    backup_database(older, tmp_path / "copy")
    older.close()
    before = (tmp_path / "copy").read_bytes()
    later_version.become(tmp_path, monkeypatch, "ALTER TABLE host ADD COLUMN added INTEGER")
    restore_database(target, tmp_path / "copy")
    with target.engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == later_version.SCHEMA
    assert [row[1] for row in rows(target)["subject"]] == ["demo"]
    assert (tmp_path / "copy").read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir() if "faultwatch-" in entry.name) == []


def test_runs_that_are_only_in_the_log_beside_an_older_backup_are_loaded(
    tmp_path: Path, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Database(f"sqlite:///{tmp_path / 'own.db'}")
    upgrade_database(older)
    with older.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    with older.writing() as session:
        session.execute(text("INSERT INTO subject (name) VALUES ('demo')"))
    for suffix in ("", "-wal"):
        shutil.copyfile(tmp_path / f"own.db{suffix}", tmp_path / f"copy{suffix}")
    older.close()
    later_version.become(tmp_path, monkeypatch, "ALTER TABLE host ADD COLUMN added INTEGER")
    restore_database(target, tmp_path / "copy")
    assert [row[1] for row in rows(target)["subject"]] == ["demo"]


def test_nothing_is_written_beside_a_backup_of_this_version(
    tmp_path: Path, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder may be read-only."""
    source = Database(f"sqlite:///{tmp_path / 'own.db'}")
    upgrade_database(source)
    backup_database(source, tmp_path / "copy")
    source.close()
    monkeypatch.setattr(tempfile, "mkdtemp", mock.Mock(side_effect=OSError(errno.EROFS, "Read-only file system")))
    restore_database(target, tmp_path / "copy")
    assert all(found == [] for found in rows(target).values())
