"""Two machines of different versions on one database: the older one goes on while the newer one upgrades it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from tests.operations import load
from tests.operations.machine import PATIENCE, ROOT, Machine, serving
from tests.service import postgres

MIGRATIONS = ROOT / "service" / "store" / "migrations" / "versions"
PLACE = MIGRATIONS.relative_to(ROOT)
NEXT = '''"""Expand the schema, as a later version may: a test adds this."""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{newest}"


def upgrade() -> None:
    op.add_column("run", sa.Column("noted", sa.Integer()))
    op.add_column("series", sa.Column("weight", sa.Integer(), server_default="1", nullable=False))
    op.add_column("report", sa.Column("kept", sa.Boolean(), server_default=sa.true(), nullable=False))
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    op.create_index("ix_run_noted", "run", ["noted"])
'''


def schemas(tree: Path) -> list[str]:
    """Return the numbers of a tree's schemas, the oldest first."""
    return sorted(file.name[:4] for file in (tree / PLACE).glob("[0-9]*.py"))


def before(schema: str, folder: Path) -> Path:
    """Return the tree of the last version that does not know a schema yet, from the history."""
    (file,) = MIGRATIONS.glob(f"{schema}_*.py")

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    added = git("log", "--diff-filter=A", "--format=%H", "--", str(file.relative_to(ROOT))).splitlines()
    if not added or not git("rev-parse", "--verify", "--quiet", f"{added[-1]}^"):
        pytest.skip("the history is not there: a shallow clone, or an archive")
    with subprocess.Popen(["git", "-C", str(ROOT), "archive", f"{added[-1]}^"], stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "--extract", "--directory", str(folder)], stdin=archive.stdout, check=True)
    assert schema not in schemas(folder)
    return folder


def after(folder: Path) -> Path:
    """Return a tree like this one, with another migration."""
    tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if name.startswith(("service/", "runner/", "templates/", "workloads/")) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / PLACE / "9999_expand.py").write_text(NEXT.format(newest=schemas(ROOT)[-1]))
    return folder


def schema(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        assert row is not None
        return str(row[0])


def replace_worker(machine: Machine) -> None:
    """Kill a worker process, and wait for another one."""
    victim = machine.workers[-1]
    known = set(machine.workers)
    os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while len(machine.workers) < len(known) or set(machine.workers) == known:
        assert machine.process.poll() is None, machine.log
        assert time.monotonic() < deadline
        time.sleep(0.05)


def work_side_by_side(
    url: str, home: Path, older: Path, newer: Path, *, replaces_worker: bool = True
) -> list[load.Sender]:
    """Start the older version, and then the newer one, while each takes runs and both are read; return the senders."""
    with serving(home / "older", url, older) as old, load.sending([old], 1) as (at_old,):
        at_old.await_more(25)
        assert schema(url) == schemas(older)[-1]
        with load.reading([old]) as reader, serving(home / "newer", url, newer) as new:
            assert schema(url) == schemas(newer)[-1]
            at_new = load.Sender("another", [new])
            at_both = load.Sender("shared", [old, new])
            senders = [at_old, at_new, at_both]
            with load.reading([new]) as other_reader:
                for sender in senders:
                    sender.await_more(25)
                if replaces_worker:
                    replace_worker(old)
                for sender in senders:
                    sender.await_more(25)
                    sender.finish()
                other_reader.finish()
            reader.finish()
            load.settle(url)
            assert [told for one in (reader, other_reader) for told in one.answers if told.isdigit()] == []
            # A request of the worker that was killed is cut off.
            cut_off = {"ConnectionError"} if replaces_worker else set()
            assert set().union(*(one.answers for one in (*senders, reader, other_reader))) <= cut_off
            for machine in (old, new):
                assert not re.search("Traceback|crashed|failed", machine.log), machine.log
    return senders


def test_the_version_before_works_beside_this_one(tmp_path: Path) -> None:
    *earlier, newest = schemas(ROOT)
    if not earlier:
        pytest.skip("there is one schema only: no version has an older one")
    (tmp_path / "tree").mkdir()
    older = before(newest, tmp_path / "tree")
    knows = "accepts_newer" in (older / "service" / "store" / "engine" / "upgrade.py").read_text()
    with postgres.running() as server:
        url = server.url(server.create())
        senders = work_side_by_side(url, tmp_path, older, ROOT, replaces_worker=knows)
        assert load.look(url) == load.sound(sum(sender.acknowledged for sender in senders))
        for sender in senders:
            found, expected = load.steps(url, sender)
            assert found == expected


def test_this_version_works_beside_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    newer = after(tmp_path / "tree")
    with postgres.running() as server:
        url = server.url(server.create())
        senders = work_side_by_side(url, tmp_path, ROOT, newer)
        assert load.look(url) == load.sound(sum(sender.acknowledged for sender in senders))
