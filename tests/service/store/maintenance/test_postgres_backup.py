"""How PostgreSQL's tools connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.maintenance import postgres_backup
from service.store.maintenance.backup import backup_database
from service.store.maintenance.postgres_backup import _build_environment, choose_newest_tool


def test_the_tools_connect_as_the_service_does() -> None:
    several = "postgresql://me:s%40fe@one:5432,other:5433/faults?target_session_attrs=read-write&sslmode=verify-full"
    found = _build_environment(Database(several).url)
    assert {name: value for name, value in found.items() if name.startswith("PG")} == {
        "PGUSER": "me",
        "PGPASSWORD": "s@fe",
        "PGDATABASE": "faults",
        "PGHOST": "one,other",
        "PGPORT": "5432,5433",
        "PGTARGETSESSIONATTRS": "read-write",
        "PGSSLMODE": "verify-full",
    }


def test_the_newest_of_the_installed_versions_is_used() -> None:
    tools = [Path(f"/usr/lib/postgresql/{version}/bin/pg_dump") for version in ("16", "9.6", "10", "9.10")]
    assert choose_newest_tool(tools) == tools[0]
    assert choose_newest_tool([*tools, Path("/usr/lib/postgresql/devel/bin/pg_dump")]) == tools[0]
    assert choose_newest_tool(tools[1:2]) == tools[1]


def test_a_tool_that_is_not_found_may_be_installed_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres_backup, "_VERSIONS_FOLDER", tmp_path / "postgresql")
    with pytest.raises(
        ServiceError, match=r"pg_dump was not found: it is neither on PATH nor .*add their folder to PATH"
    ):
        postgres_backup._find_tool("pg_dump")


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_backup_of_the_server_that_answers(database: Database, database_url: str, tmp_path: Path) -> None:
    folder = database.url.query["host"]
    several = f"postgresql://tests@/{database.url.database}?host={tmp_path},{folder}&target_session_attrs=read-write"
    backup_database(Database(several), tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_size > 0
    with pytest.raises(ServiceError, match="pg_dump"):
        backup_database(Database(several.replace("read-write", "standby")), tmp_path / "other")
