"""A migration takes nothing away that the version before uses, so that machines of both work side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from alembic.config import Config as AlembicConfig
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, inspect, text

import service.store
from service.store.engine.database import Database
from tests.service import postgres
from tests.service.store.test_migrations import make

ROOT = Path(__file__).parents[3]
SINCE = "0026"
"""The rule is for migrations after it. No version with an older schema was released."""
PART = re.compile(r"\w+_p\d+")


class Column(NamedTuple):
    type: str
    needs_value: bool
    """Whether who stores a row must name it."""


class Table(NamedTuple):
    columns: dict[str, Column]
    limits: dict[str, tuple[str, ...]]
    """What rows it refuses: the columns of each unique index, foreign key and check."""


Schema = dict[str, Table]


def taken_away(before: Schema, after: Schema) -> list[str]:
    """Return what a version that knows the schema before cannot live with. Pure."""
    found = []
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            found.append(f"{name} is gone")
            continue
        found += [f"{name}.{column} is gone" for column in old.columns if column not in new.columns]
        for column, now in new.columns.items():
            then = old.columns.get(column)
            if now.needs_value and (then is None or not then.needs_value):
                found.append(f"{name}.{column} needs a value")
            if then is not None and now.type != then.type:
                found.append(f"{name}.{column} has another type")
        found += [
            f"{limit} limits {name}"
            for limit, columns in new.limits.items()
            if limit not in old.limits and set(columns) <= set(old.columns)
        ]
    return found


def read(connection: Connection) -> Schema:
    found = inspect(connection)
    return {name: _table(connection, name) for name in found.get_table_names() if not PART.fullmatch(name)}


def _table(connection: Connection, name: str) -> Table:
    found = inspect(connection)
    columns = {
        column["name"]: Column(str(column["type"]), not column["nullable"] and column["default"] is None)
        for column in found.get_columns(name)
    }
    limits = connection.execute(
        text(
            "SELECT conname, "
            "array(SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey)) "
            "FROM pg_constraint WHERE conrelid = to_regclass(:name) UNION ALL "
            "SELECT indexrelid::regclass::text, "
            "array(SELECT attname FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY (indkey)) "
            "FROM pg_index WHERE indrelid = to_regclass(:name) AND indisunique"
        ),
        {"name": name},
    )
    return Table(columns, {limit: tuple(map(str, names)) for limit, names in limits})


def scripts() -> list[Script]:
    """Return the migrations, the oldest first."""
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(service.store.__file__).parent / "migrations"))
    return list(ScriptDirectory.from_config(config).walk_revisions())[::-1]


@pytest.fixture
def empty(postgresql: postgres.Server) -> Iterator[Database]:
    """A database without tables."""
    database = Database(postgresql.url(postgresql.create()))
    yield database
    database.close()


def schema_of(database: Database, number: str) -> Schema:
    """Upgrade a database to a schema; return it."""
    make(database, number)
    with database.engine.connect() as connection:
        return read(connection)


def test_no_migration_takes_away_what_the_version_before_uses(empty: Database) -> None:
    released = re.findall(r"^## (\S+), \d{4}", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    before = schema_of(empty, SINCE)
    for script in scripts():
        if script.revision <= SINCE:
            continue
        after = schema_of(empty, script.revision)
        found = taken_away(before, after)
        # See "Change the schema" in CONTRIBUTING.md.
        assert not found or getattr(script.module, "unused_since", None) in released, (script.path, found)
        before = after


def test_what_earlier_migrations_took_away_is_seen(empty: Database) -> None:
    earlier = schema_of(empty, "0022")
    assert taken_away(earlier, schema_of(empty, "0023")) == ["outline is gone"]
    current = schema_of(empty, "0024")
    assert taken_away(current, schema_of(empty, SINCE)) == [], "new tables disturb nobody"


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("ALTER TABLE subject ADD x int", []),
        ("ALTER TABLE subject ADD x int NOT NULL DEFAULT 0", []),
        ("ALTER TABLE subject ADD x int NOT NULL", ["subject.x needs a value"]),
        ("ALTER TABLE run ALTER quarantine SET NOT NULL", ["run.quarantine needs a value"]),
        ("ALTER TABLE run DROP COLUMN session", ["run.session is gone"]),
        ("ALTER TABLE run RENAME session TO doubt", ["run.session is gone"]),
        ("ALTER TABLE loose_part RENAME TO slack", ["loose_part is gone"]),
        ("ALTER TABLE loose_part ALTER freed TYPE text", ["loose_part.freed has another type"]),
        ("CREATE UNIQUE INDEX one ON run (started_at)", ["one limits run"]),
        ("ALTER TABLE run ADD CONSTRAINT one CHECK (started_at < finished_at)", ["one limits run"]),
        ("ALTER TABLE subject ADD x int UNIQUE", []),
        ("CREATE INDEX one ON run (finished_at); DROP INDEX ix_run_started_at", []),
    ],
)
def test_what_an_older_version_can_live_with(database: Database, change: str, expected: list[str]) -> None:
    with database.engine.connect() as connection:
        before = read(connection)
        connection.execute(text(change))
        assert taken_away(before, read(connection)) == expected
        connection.rollback()
