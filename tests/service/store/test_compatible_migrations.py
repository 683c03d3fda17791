"""A migration takes nothing away that the version before uses, so that machines of both work side by side."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, inspect, text

from service.store.engine import upgrade
from service.store.engine.database import Database
from tests.service import postgres
from tests.service.store import later_version

ROOT = Path(__file__).parents[3]
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
    """Return what a version that knows the schema before cannot live with."""
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


def configuration() -> AlembicConfig:
    config = AlembicConfig()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    return config


def scripts() -> list[Script]:
    """Return the migrations, the oldest first."""
    return list(ScriptDirectory.from_config(configuration()).walk_revisions())[::-1]


@pytest.fixture
def empty(postgresql: postgres.Server) -> Iterator[Database]:
    """A database without tables."""
    database = Database(postgresql.url(postgresql.create()))
    yield database
    database.close()


def schema_of(database: Database, number: str) -> Schema:
    """Upgrade a database to a schema; return it."""
    with database.writing() as session:
        config = configuration()
        config.attributes["connection"] = session.connection()
        command.upgrade(config, number)
    with database.engine.connect() as connection:
        return read(connection)


def refused(database: Database, released: Collection[str]) -> dict[str, list[str]]:
    """Return what each migration takes away, by its number, unless no released version has used it since."""
    first, *later = scripts()
    before = schema_of(database, first.revision)
    found = {}
    for script in later:
        after = schema_of(database, script.revision)
        if getattr(script.module, "unused_since", None) not in released:
            found[script.revision] = taken_away(before, after)
        before = after
    return {number: lines for number, lines in found.items() if lines}


def test_no_migration_takes_away_what_the_version_before_uses(empty: Database) -> None:
    released = re.findall(r"^## (\d\S*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert refused(empty, released) == {}, "see Change the schema in CONTRIBUTING.md"


@pytest.mark.parametrize(
    ("change", "names", "found"),
    [
        ("ALTER TABLE run ADD noted INTEGER", "", {}),
        ("ALTER TABLE run DROP session", "", {later_version.SCHEMA: ["run.session is gone"]}),
        ("ALTER TABLE run DROP session", 'unused_since = "0.2.0"', {later_version.SCHEMA: ["run.session is gone"]}),
        ("ALTER TABLE run DROP session", 'unused_since = "0.1.0"', {}),
    ],
)
def test_a_migration_that_takes_away_what_a_released_version_uses_is_refused(
    empty: Database,
    change: str,
    names: str,
    found: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later_version.become(tmp_path, monkeypatch, change, names)
    assert refused(empty, ["0.1.0"]) == found


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


MIGRATIONS = ROOT / "service" / "store" / "migrations" / "versions"
FINGERPRINTS = {
    "0001_make_the_tables": "db2ab0823d3ef2cc",
    "0002_add_proofs": "b73b6b9a8865ae87",
    "0003_add_patch_ids": "8df814b02b816def",
    "0004_add_former_commits_of_refs": "2160fb465a08b96d",
    "0005_add_least_change_of_proofs": "837c53d58e6b44ff",
    "0006_give_columns_their_first_names": "b43d2726b060edd5",
    "0007_add_facts_of_event_drifts": "1024764d9c9e89c5",
    "0008_add_packed_levels_of_runs": "d54ae27e647c7809",
}
"""Of each migration's statements. Databases have run them: what comes later is a migration of its own."""


def compute_fingerprint(source: str) -> str:
    """Return the hash of a module's statements, without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return sha256(ast.unparse(tree).encode()).hexdigest()[:16]


def test_a_migration_is_never_edited() -> None:
    files = sorted(MIGRATIONS.glob("[0-9]*.py"))
    assert {file.stem: compute_fingerprint(file.read_text()) for file in files} == FINGERPRINTS
    renamed = (MIGRATIONS / "0001_make_the_tables.py").read_text().replace('"found"', '"still_detected"')
    assert compute_fingerprint(renamed) != FINGERPRINTS["0001_make_the_tables"]
