"""Tasks that run in one process of the service at a time, on both databases."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from service.store.engine.database import Database

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
PATIENCE = 30
HOLDS = """
import sys
from service.store.engine.database import Database
with Database(sys.argv[1]).run_exclusively(sys.argv[2]) as ours:
    print(ours, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process that takes a task, and keeps it until its input ends."""
    command = [sys.executable, "-c", HOLDS, url, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def is_free(database: Database, name: str) -> bool:
    with database.run_exclusively(name) as ours:
        return ours


def test_a_task_of_another_process_is_taken_until_that_is_killed(database_url: str) -> None:
    database = Database(database_url)
    with another_process(database_url, "events") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not is_free(database, "events")
        assert is_free(database, "jobs"), "each task has its own lock"
        other.kill()
        deadline = time.monotonic() + PATIENCE
        while not is_free(database, "events"):  # PostgreSQL notices the end of a client a moment later
            assert time.monotonic() < deadline
            time.sleep(0.01)
    database.close()


def test_a_task_is_free_after_it_failed(database_url: str) -> None:
    database = Database(database_url)
    with pytest.raises(ZeroDivisionError), database.run_exclusively("events") as ours:
        assert ours
        assert not is_free(database, "events"), "a second thread or process does not get it"
        raise ZeroDivisionError
    assert is_free(database, "events")
    database.close()
