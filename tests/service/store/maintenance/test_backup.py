"""Backup, restore and export, on every database, as an operator runs them."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pyperf
import pytest
from sqlalchemy import text

from runner.contract import Report
from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade_database
from service.store.maintenance import postgres_backup
from service.store.maintenance.backup import backup_database, restore_database
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.store import later_version

EVERY_DATABASE = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def close(api: Api) -> None:
    """Stop the service."""
    from service.web import app_resources

    with api.client.application.app_context():
        app_resources.get_database().close()


@EVERY_DATABASE
def test_a_restored_backup_has_what_was_there(api: Api, database: Database, tmp_path: Path) -> None:
    old, new = reports.report(1, 100, 100), reports.report(2, 200, 200)
    api.send(old)
    backup_database(database, tmp_path / "copy")
    api.send(new)
    database.close()
    close(api)
    with pytest.raises(ServiceError, match="--replace"):
        restore_database(database, tmp_path / "copy")
    assert api.get("/runs")["total"] == 2
    close(api)
    restore_database(database, tmp_path / "copy", replace=True)
    assert [run["run_id"] for run in api.get("/runs")["items"]] == [str(old.run_id)]
    assert api.send_each(new, old) == [201, 200]
    assert len(api.series()["points"]) == 2


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_of_an_older_version_replaces_a_newer_database(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    if kind == "postgresql":
        server = request.getfixturevalue("postgresql")
        url = server.url(server.create())
    database = Database(url)
    upgrade_database(database)
    with database.writing() as session:
        session.execute(text("DROP TABLE loose_part"))  # as if only the later version had it
    backup_database(database, tmp_path / "copy")
    later_version.become(tmp_path, monkeypatch, "CREATE TABLE loose_part (first_run INTEGER PRIMARY KEY)")
    upgrade_database(database)
    database.close()
    database = Database(url)
    restore_database(database, tmp_path / "copy", replace=True)
    upgrade_database(database)
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM loose_part")).scalar_one() == 0
    database.close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "share", [0.3, *(pytest.param(share, marks=pytest.mark.thorough) for share in (0.6, 0.9)), 0.99]
)
def test_of_a_restore_that_is_cut_off_nothing_remains(
    api: Api, database: Database, tmp_path: Path, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.send(*(reports.report(number, 100, 100) for number in range(1, 9)))
    backup_database(database, tmp_path / "copy")
    whole = subprocess.run(
        [postgres_backup._find_tool("pg_restore"), "--clean", "--if-exists", "--file=-", tmp_path / "copy"],
        check=True,
        capture_output=True,
    ).stdout
    (tmp_path / "part").write_bytes(whole[: int(len(whole) * share)])
    cut = tmp_path / "pg_restore"
    cut.write_text(f"#!/bin/sh\ncase $1 in --list) exit 0;; esac\ncat '{tmp_path}/part'\nexit 1\n")
    cut.chmod(0o755)
    find = postgres_backup._find_tool
    monkeypatch.setattr(
        postgres_backup, "_find_tool", lambda program: str(cut) if program == "pg_restore" else find(program)
    )
    database.close()
    close(api)
    with pytest.raises(ServiceError, match="pg_restore failed"):
        restore_database(database, tmp_path / "copy", replace=True)
    assert api.get("/runs")["total"] == 8
    assert len(api.series()["points"]) == 8


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_restore_whose_connection_is_refused_says_why(
    api: Api, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup_database(database, tmp_path / "copy")
    scripts = {
        "pg_restore": "case $1 in --list) exit 0;; esac\nsleep 0.5\nyes 'SELECT 1;'",
        "psql": "echo 'psql: too many clients' >&2\nexit 2",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(postgres_backup, "_find_tool", lambda program: str(tmp_path / program))
    database.close()
    close(api)
    with pytest.raises(ServiceError, match="psql: too many clients"):
        restore_database(database, tmp_path / "copy")


def test_runs_that_are_only_in_the_log_beside_a_backup_are_restored(
    api: Api, database: Database, tmp_path: Path
) -> None:
    """A database that is copied by hand while the service runs consists of two files."""
    api.send(reports.report(1, 100))
    assert database.file is not None
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{database.file}{suffix}", tmp_path / f"copy{suffix}")
    with closing(sqlite3.connect(f"file:{tmp_path}/copy?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM run").fetchone() == (0,)
    database.close()
    close(api)
    restore_database(database, tmp_path / "copy")
    assert api.get("/runs")["total"] == 1


@EVERY_DATABASE
def test_a_database_in_use_is_not_replaced(api: Api, database: Database, tmp_path: Path) -> None:
    api.send(reports.report(1, 100))
    backup_database(database, tmp_path / "copy")
    own = Database(database.url.render_as_string(hide_password=False))
    with database.engine.connect(), pytest.raises(ServiceError, match="in use"):
        restore_database(own, tmp_path / "copy")
    own.close()
    assert api.get("/runs")["total"] == 1


@EVERY_DATABASE
def test_a_damaged_backup_leaves_the_database_alone(api: Api, database: Database, tmp_path: Path) -> None:
    api.send(*(reports.report(number, 100, 101) for number in range(1, 30)))
    file = tmp_path / "copy"
    backup_database(database, file)
    content = bytearray(file.read_bytes())
    content[: len(content) // 2] = b"\xff" * (len(content) // 2)
    file.write_bytes(content)
    database.close()
    close(api)
    with pytest.raises(ServiceError):
        restore_database(database, file, replace=True)
    assert api.get("/runs")["total"] == 29
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".part")] == []


def test_a_backup_is_taken_while_somebody_writes_and_makes_nobody_wait(
    api: Api, database: Database, tmp_path: Path
) -> None:
    api.send(reports.report(1, 100))
    with database.writing():  # a database whose write lock is taken can be copied, so copying takes none
        backup_database(database, tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy")) as copy:
        assert copy.execute("SELECT count(*) FROM run").fetchone() == (1,)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_backup_does_not_overwrite_a_file(database: Database, tmp_path: Path) -> None:
    (tmp_path / "copy").write_text("something else")
    with pytest.raises(ServiceError, match="exists"):
        backup_database(database, tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == "something else"


@pytest.mark.parametrize("is_database", [True, False])
def test_what_is_not_ours_is_replaced_only_on_demand(database: Database, tmp_path: Path, is_database: bool) -> None:
    backup_database(database, tmp_path / "copy")
    file = tmp_path / "own"
    if is_database:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE photo (name)")
    else:
        file.write_text("a shopping list, and more than a hundred bytes of it " * 20)
    before = file.read_bytes()
    other = Database(f"sqlite:///{file}")
    with pytest.raises(ServiceError, match="--replace"):
        restore_database(other, tmp_path / "copy")
    assert file.read_bytes() == before
    restore_database(other, tmp_path / "copy", replace=True)
    upgrade_database(other)
    other.close()


def test_a_database_with_as_many_other_runs_is_replaced_only_on_demand(
    api: Api, database: Database, tmp_path: Path
) -> None:
    api.send(reports.report(1, 100))
    backup_database(database, tmp_path / "copy")
    shutil.copyfile(tmp_path / "copy", tmp_path / "own")
    with closing(sqlite3.connect(tmp_path / "own")) as connection, connection:
        ((run_id,),) = connection.execute("SELECT id FROM run").fetchall()
        connection.execute("UPDATE run SET id = ?", (run_id[::-1],))  # another run
    own = Database(f"sqlite:///{tmp_path / 'own'}")
    with pytest.raises(ServiceError, match="--replace"):
        restore_database(own, tmp_path / "copy")
    restore_database(own, tmp_path / "copy", replace=True)
    restore_database(own, tmp_path / "copy")


def test_a_backup_makes_no_folder(database: Database, tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="cannot be written"):
        backup_database(database, tmp_path / "mistyped" / "copy")
    assert not (tmp_path / "mistyped").exists()


def test_a_backup_of_a_newer_version_is_refused(database: Database, tmp_path: Path) -> None:
    backup_database(database, tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy")) as copy, copy:
        copy.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(ServiceError, match="does not know the schema"):
        restore_database(database, tmp_path / "copy")


@EVERY_DATABASE
def test_the_export_has_every_sample_in_a_row_of_its_own(api: Api) -> None:
    large = 2**63 + 1
    report = reports.report(1, large, large + 2, others={"throughput": 2.5})
    api.send(report, reports.failed_build(2), reports.report(3, 5, subject="other"))
    rows = [json.loads(line) for line in export(api, "jsonl", subject="demo").splitlines()]
    assert [(row["metric"], row["sample"], row["value"]) for row in rows] == [
        ("minor-faults", 0, large),
        ("minor-faults", 1, large + 2),
        ("throughput", 0, 2.5),
        ("throughput", 1, 2.5),
    ]
    assert {row["level"] for row in rows} == {large + 1, 2.5}
    table = list(csv.DictReader(io.StringIO(export(api, "csv"))))
    assert [row["value"] for row in table] == [str(large), str(large + 2), "2.5", "2.5", "5"]
    assert table[0].keys() == rows[0].keys()


@EVERY_DATABASE
def test_exported_reports_make_the_same_store_again(api: Api) -> None:
    sent = [reports.report(1, 100, 101), reports.failed_build(2)]
    api.send(*sent)
    assert [Report.model_validate_json(line) for line in export(api, "reports").splitlines()] == sent


def export(api: Api, kind: str, **query: str) -> str:
    answer = api.client.get("/api/v1/export", query_string={"format": kind, **query})
    assert answer.status_code == 200
    return answer.text


def test_the_commands(api: Api, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from service.__main__ import cli

    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    started = datetime(2020, 1, 1, tzinfo=UTC)
    api.send(reports.report(1, 100, 100, started_at=started, finished_at=started))
    close(api)
    copy, folder = str(tmp_path / "copy"), tmp_path / "suites"

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert "was backed up to" in run("backup", copy)
    niceness: list[int] = []
    monkeypatch.setattr(os, "nice", niceness.append)  # this process is that of all tests
    assert run("retain", "--days", "30").startswith("1 report and 0 profiles thinned")
    assert niceness == [10], "the service goes first"
    assert run("export", "--format", "csv").startswith("run_id,subject,")
    assert "1 suite file is in" in run("export", "--format", "pyperf", "--output", str(folder))
    (suite,) = folder.iterdir()
    assert pyperf.BenchmarkSuite.load(str(suite)).get_benchmark("minor-faults").get_values() == (100, 100)
    assert "was restored from" in run("restore", copy)
