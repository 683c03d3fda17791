"""PostgreSQL is lost, and restored to a point in time by the commands of the documentation."""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import requests

from tests.operations import load
from tests.operations.documented import scripts
from tests.operations.machine import PATIENCE, Machine, serving
from tests.service import postgres

ARCHIVE, BASE, CLEAN, RESTORE, AFTERWARDS = range(5)
"""The blocks of the document."""


def document() -> list[str]:
    return scripts("docs/how-to/storage.md", __file__)


def ask(url: str, question: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
        assert row is not None
        return str(row[0])


def archive_all(url: str) -> None:
    """Wait until all that was written is archived, as it is after ``archive_timeout``."""
    name = ask(url, "SELECT pg_walfile_name(pg_switch_wal())")
    deadline = time.monotonic() + PATIENCE
    while ask(url, f"SELECT coalesce(last_archived_wal >= '{name}', false) FROM pg_stat_archiver") != "True":
        assert time.monotonic() < deadline, ask(url, "SELECT last_failed_wal FROM pg_stat_archiver")
        time.sleep(0.1)


def run_ids(machine: Machine, subject: str) -> set[str]:
    found: set[str] = set()
    while True:
        asked = {"subject": subject, "limit": "200", "offset": str(len(found))}
        page = requests.get(f"{machine.address}/api/v1/runs", asked, timeout=PATIENCE).json()
        found |= {run["run_id"] for run in page["items"]}
        if len(found) >= page["total"]:
            return found


def test_a_lost_server_is_restored_to_a_point_in_time_and_serves_on(tmp_path: Path) -> None:
    with postgres.running() as server:
        stat = server.data.stat()
        archive, backups = server.folder / "archive", server.folder / "backups"
        for folder in (archive, backups):
            folder.mkdir(mode=0o700)
            os.chown(folder, stat.st_uid, stat.st_gid)
        variables = {"ARCHIVE": archive, "BACKUPS": backups}
        server.shell(document()[ARCHIVE], **variables)
        server.kill()
        server.start()
        name = server.create()
        url = server.url(name)
        with serving(tmp_path / "home", url) as machine:
            with load.sending([machine], 2) as senders:
                for sender in senders:
                    sender.await_more(25)
                said = server.shell(document()[BASE], **variables)  # while runs arrive
                assert "successfully verified" in said
                for sender in senders:
                    sender.await_more(25)
                server.shell(document()[BASE], **variables)
                assert len(list(backups.iterdir())) == 2
                server.shell(document()[CLEAN], **variables)
                for sender in senders:
                    sender.await_more(100)
                    sender.finish()
                load.settle(url)
                acknowledged = [sender.acknowledged for sender in senders]
                commits = [sender.commits for sender in senders]
            moment = datetime.now(UTC)
            archive_all(url)
            time.sleep(1.5)
            # Somebody makes a mistake. All is to be as it was before.
            late = load.Sender("late", [machine])
            late.await_more(load.CASES)
            late.finish()
            with psycopg.connect(url) as connection:
                connection.execute("DELETE FROM drift")
            archive_all(url)
        server.kill()
        shutil.rmtree(server.data)
        began = time.monotonic()
        server.shell(document()[RESTORE], **variables, MOMENT=moment.isoformat(sep=" "))
        server.start()
        deadline = time.monotonic() + PATIENCE
        while ask(server.url("postgres"), "SELECT pg_is_in_recovery()") == "True":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        server.shell(document()[AFTERWARDS], **variables)
        with serving(tmp_path / "other", url) as machine:
            took = time.monotonic() - began
            assert load.look(url) == load.sound(sum(acknowledged))
            for sender, count in zip(senders, acknowledged, strict=True):
                assert len(run_ids(machine, sender.data.subject)) == count
                found, expected = load.steps(url, sender)
                assert found == expected
            assert run_ids(machine, "late") == set()
            for page in load.PAGES:
                assert requests.get(f"{machine.address}{page}", timeout=PATIENCE).ok
            # It takes runs and judges on: the same series go on, and a step is found.
            for sender, first in zip(senders, commits, strict=True):
                for commit in range(first, first + load.STEP_EVERY + 1):
                    moved = 1 if commit // load.STEP_EVERY % 2 else 0
                    (body,) = sender.data.batches(commit, load.CASES, moved=moved)
                    headers = {"Content-Type": "application/json"}
                    assert requests.post(f"{machine.address}/api/v1/runs", body, headers=headers, timeout=PATIENCE).ok
                sender.commits = commit + 1
            load.settle(url)
            for sender in senders:
                found, expected = load.steps(url, sender)
                assert found == expected
            archive_all(url)
            assert list(archive.glob("00000002*")), "the log goes on in its own timeline"
    print(f"{sum(acknowledged):,} runs are back and served within {took:.1f} s")
