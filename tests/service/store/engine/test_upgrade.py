from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from service.config.settings import Config
from service.errors import ServiceError
from service.serving import _make_app_when_database_answers
from service.store.engine.database import Database
from service.store.engine.upgrade import MIGRATIONS, find_newest_schema, list_known_schemas, upgrade_database
from service.store.models import Base
from service.web import app_resources
from tests.service import postgres, reports
from tests.service.apiclient import Api
from tests.service.store import later_version

_ADDED = "ALTER TABLE report ADD COLUMN kept INTEGER"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the database will be."""
    return tmp_path / "new" / "faultwatch.db"


@pytest.fixture
def empty(file: Path) -> Iterator[Database]:
    """A database that was not made yet."""
    database = Database(f"sqlite:///{file}", busy_seconds=0.1)
    yield database
    database.close()


def refusal(database: Database) -> str:
    with pytest.raises(ServiceError) as raised:
        upgrade_database(database)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_the_migrations_make_the_tables_that_the_code_uses(database: Database) -> None:
    # On PostgreSQL, divided tables have parts, and no foreign keys.
    left_out = re.compile(r"(point|report)_p\d+|fk_(point|report)_\w+")
    with database.engine.connect() as connection:
        compared = {"include_object": lambda _item, name, *_: database.is_sqlite or not left_out.fullmatch(name or "")}
        assert compare_metadata(MigrationContext.configure(connection, opts=compared), Base.metadata) == []


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_columns_that_had_other_names_for_a_day_get_their_first_ones(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE event_drift RENAME COLUMN found TO still_detected"))
        connection.execute(text("ALTER TABLE job RENAME COLUMN course TO steps"))
        connection.execute(text("ALTER TABLE event_drift DROP COLUMN facts"))
        connection.execute(text("ALTER TABLE run DROP COLUMN levels"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0005'"))
    upgrade_database(database)
    inspector = inspect(database.engine)
    names = {column["name"] for table in ("event_drift", "job") for column in inspector.get_columns(table)}
    assert {"found", "course"} <= names
    assert not {"still_detected", "steps"} & names


def test_upgrading_again_changes_nothing(empty: Database, file: Path) -> None:
    upgrade_database(empty)
    before = inspect(empty.engine).get_table_names()
    upgrade_database(empty)
    assert inspect(empty.engine).get_table_names() == before


def test_the_numbers_of_the_migrations_are_what_alembic_knows() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert list_known_schemas() == {script.revision for script in scripts.walk_revisions()}
    assert find_newest_schema() == scripts.get_current_head()


def test_many_services_that_start_at_once_upgrade_once(file: Path) -> None:
    def start(_: int) -> None:
        database = Database(f"sqlite:///{file}")
        upgrade_database(database)
        database.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(8)))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)


def test_a_database_of_a_newer_version_is_left_alone(empty: Database, file: Path) -> None:
    upgrade_database(empty)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    said = refusal(empty)
    assert "newer version" in said
    assert "9999" in said
    assert str(file) in said


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_a_machine_that_serves_goes_on_when_another_one_brings_a_newer_version(
    database: Database, config: Config
) -> None:
    with database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    client = _make_app_when_database_answers(config).test_client()
    assert Api(client).send_each(reports.report(1, 100, 100)) == [201]
    assert client.get("/runs").status_code == 200
    with client.application.app_context():
        app_resources.get_database().close()
    with pytest.raises(ServiceError, match="newer version"):
        upgrade_database(database)


def test_a_migration_that_waits_for_a_long_question_makes_nobody_wait(
    postgresql: postgres.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(postgresql.url(postgresql.create()))
    upgrade_database(database)
    later_version.become(tmp_path, monkeypatch, _ADDED)
    with ThreadPoolExecutor(1) as pool:
        with database.engine.connect() as slow:
            slow.execute(text("SELECT count(*) FROM report"))  # holds its lock until the transaction ends
            upgrading = pool.submit(upgrade_database, database)
            waited = []
            deadline = time.monotonic() + 4
            while time.monotonic() < deadline:
                began = time.monotonic()
                with database.engine.connect() as connection:
                    connection.execute(text("SET statement_timeout = '10s'"))  # it would wait for us
                    connection.execute(text("SELECT count(*) FROM report"))
                waited.append(time.monotonic() - began)
                time.sleep(0.05)
            assert not upgrading.done()
            assert max(waited) < 3
        upgrading.result(60)
    upgrade_database(database)
    database.close()


def test_an_upgrade_that_always_finds_a_table_in_use_says_so(
    postgresql: postgres.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from service.store.engine import upgrade as module

    monkeypatch.setattr(module, "MAX_SECONDS", 0.0)
    database = Database(postgresql.url(postgresql.create()))
    upgrade_database(database)
    later_version.become(tmp_path, monkeypatch, _ADDED)
    with database.engine.connect() as slow:
        slow.execute(text("SELECT count(*) FROM report"))
        assert "constantly in use" in refusal(database)
    database.close()


def test_a_locked_database(empty: Database, file: Path) -> None:
    upgrade_database(empty)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        said = refusal(empty)
    assert said.startswith(f"The database is locked: {file}")


def test_a_read_only_database(empty: Database, file: Path) -> None:
    upgrade_database(empty)
    empty.close()
    said = refusal(Database(f"sqlite:///file:{file}?mode=ro&uri=true"))
    assert "read-only" in said
    assert "writable" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_one_may_not_write_to(empty: Database, file: Path) -> None:
    file.parent.mkdir(mode=0o500)
    said = refusal(empty)
    assert str(file) in said
    assert list(file.parent.iterdir()) == []


def test_a_file_that_is_no_database(empty: Database, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("a shopping list, and more than a hundred bytes of it " * 20)
    assert refusal(empty).startswith(f"The file is not a database: {file}")
    assert file.read_text().startswith("a shopping list")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refusal(Database(f"sqlite:///{tmp_path}/file/faultwatch.db"))
    assert f"{tmp_path}/file" in said


def test_a_migration_that_fails_leaves_nothing_behind(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        with empty.engine.connect():
            raise RuntimeError

    real = command.upgrade

    def half_done(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        fail()

    monkeypatch.setattr(command, "upgrade", half_done)
    with pytest.raises(RuntimeError):
        upgrade_database(empty)
    assert inspect(empty.engine).get_table_names() == []


@pytest.mark.parametrize("url", ["nonsense", "sqlite+nothing:///x"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ServiceError, match="DATABASE_URL"):
        Database(url)
