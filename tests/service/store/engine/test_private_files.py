"""Who may read the files of the database."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from service.jobs.local_starter import LocalStarter
from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade_database


@pytest.fixture(autouse=True)
def _generous_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {file.name: f"{stat.S_IMODE(file.stat().st_mode):o}" for file in folder.iterdir()}


def used(file: Path) -> Database:
    database = Database(f"sqlite:///{file}")
    upgrade_database(database)
    with database.writing() as session:
        session.execute(text("CREATE TABLE IF NOT EXISTS x (y)"))
    return database


def test_every_file_of_the_database_is_its_owners_alone(tmp_path: Path) -> None:
    database = used(tmp_path / "faultwatch.db")
    try:
        found = modes(tmp_path)
        assert {"faultwatch.db", "faultwatch.db-wal", "faultwatch.db-shm"} <= set(found)
        assert set(found.values()) == {"600"}
    finally:
        database.close()


def test_files_that_an_earlier_version_made_are_corrected(tmp_path: Path) -> None:
    first = used(tmp_path / "faultwatch.db")
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"faultwatch.db{suffix}").chmod(0o644)
    second = used(tmp_path / "faultwatch.db")
    try:
        assert set(modes(tmp_path).values()) == {"600"}
    finally:
        first.close()
        second.close()


def test_the_logs_of_jobs_are_their_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "true")
    LocalStarter(tmp_path, Database("sqlite://"), by_token=False, on_ended=lambda *_: None)._run_and_release_process(
        7, 1
    )
    assert modes(tmp_path) == {"jobs": "700"}
