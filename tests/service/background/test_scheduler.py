"""Tasks in the background: when they run, what happens when they fail, and in how many processes."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Queue

import pytest

from service.background.scheduler import BackgroundScheduler, Task
from service.errors import ServiceError
from service.store.engine.database import Database

PATIENCE = 30
NEVER = 3600.0
"""An interval that ends after the test."""
Start = Callable[..., BackgroundScheduler]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start tasks; stop them at the end of the test."""
    started: list[BackgroundScheduler] = []
    database = Database("sqlite://")

    def begin(*tasks: Task) -> BackgroundScheduler:
        started.append(BackgroundScheduler(database, tasks))
        started[-1].start()
        return started[-1]

    yield begin
    for scheduler in started:
        assert scheduler.stop(PATIENCE)
    database.close()


class Runs:
    """Work that counts its runs, and does what it is given for each of them; nothing after that."""

    def __init__(self, *acts: Callable[[], datetime | None]) -> None:
        self._acts = iter(acts)
        self._done: Queue[int] = Queue()
        self.count = 0

    def __call__(self) -> datetime | None:
        self.count += 1
        try:
            return next(self._acts, lambda: None)()
        finally:
            self._done.put(self.count)

    def wait_for(self, count: int) -> None:
        """Wait for the end of a run, by its number."""
        while self._done.get(timeout=PATIENCE) < count:
            pass


def fail(error: Exception) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def test_a_task_runs_at_the_start_and_at_its_interval(start: Start) -> None:
    often, once, later = Runs(), Runs(), Runs()
    start(
        Task("often", often, interval=0.01), Task("once", once, NEVER), Task("later", later, interval=0.01, delay=NEVER)
    )
    often.wait_for(3)
    once.wait_for(1)
    assert (once.count, later.count) == (1, 0)


def test_a_task_runs_when_it_falls_due(start: Start) -> None:
    work = Runs(lambda: datetime.now(UTC) + timedelta(seconds=0.05), lambda: datetime.now(UTC) - timedelta(days=1))
    start(Task("due", work, NEVER))
    work.wait_for(3)


def test_a_woken_task_runs_at_once_and_a_running_one_once_more(start: Start) -> None:
    begun, going_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        going_on.wait(PATIENCE)

    scheduler = start(Task("woken", work := Runs(lambda: None, slow), NEVER), Task("other", other := Runs(), NEVER))
    work.wait_for(1)
    scheduler.wake("woken")
    assert begun.wait(PATIENCE)
    scheduler.wake("woken")
    scheduler.wake("woken")
    going_on.set()
    work.wait_for(3)
    assert scheduler.stop(PATIENCE)
    assert (work.count, other.count) == (3, 1)


def test_a_slow_task_delays_no_other(start: Start) -> None:
    going_on = threading.Event()
    slow, quick = Runs(lambda: going_on.wait(PATIENCE) and None), Runs()
    start(Task("slow", slow, interval=0.01), Task("quick", quick, interval=0.01))
    quick.wait_for(3)
    assert slow.count == 1, "and does not run twice at a time"
    going_on.set()
    slow.wait_for(2)


def test_a_task_that_fails_is_tried_again_and_logged_once(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    refused = ServiceError("No such channel", "notifications.toml", "Add it.")
    fails = Runs(*[fail(refused)] * 3, *[fail(ZeroDivisionError("crash"))] * 2, lambda: None, fail(refused))
    start(Task("fails", fails, interval=0.01), Task("goes on", goes_on := Runs(), interval=0.01))
    fails.wait_for(8)
    goes_on.wait_for(3)
    first, crash, again = caplog.records
    assert first.getMessage() == again.getMessage() == f"fails failed and will be retried every 0.01 s: {refused}"
    assert (first.exc_info, crash.getMessage()) == (None, "fails crashed and will be retried every 0.01 s")
    assert crash.exc_info is not None, "the place of a crash is in the log"


def test_stopping_waits_for_what_is_under_way_but_not_for_ever(start: Start) -> None:
    going_on, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        going_on.wait(PATIENCE)

    scheduler = start(Task("slow", runs := Runs(work), interval=0.0))
    assert begun.wait(PATIENCE)
    assert not scheduler.stop(0.01)
    scheduler.wake("slow")
    going_on.set()
    assert scheduler.stop(PATIENCE)
    assert runs.count == 1, "nothing begins after the stop"


TAKES_TURNS = """
import os, sys, time
from service.background.scheduler import BackgroundScheduler, Task
from service.store.engine.database import Database

def work():
    with open(sys.argv[2], "a", buffering=1) as turns:
        turns.write(f"begin {os.getpid()}\\n")
        time.sleep(0.01)
        turns.write(f"end {os.getpid()}\\n")

scheduler = BackgroundScheduler(Database(sys.argv[1]), [Task("turns", work, interval=0.02, exclusive=True)])
scheduler.start()
sys.stdin.read()
assert scheduler.stop(30)
"""


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_two_processes_take_turns_at_an_exclusive_task(database_url: str, tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    turns.touch()
    command = [sys.executable, "-c", TAKES_TURNS, database_url, str(turns)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
    try:
        deadline = time.monotonic() + PATIENCE
        while any(turns.read_text().count(f"end {process.pid}\n") < 5 for process in processes):
            assert time.monotonic() < deadline, turns.read_text()
            time.sleep(0.01)
    finally:
        for process in processes:
            process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    lines = turns.read_text().splitlines()
    for begin, end in zip(lines[::2], lines[1::2], strict=True):
        assert begin.replace("begin", "end") == end, f"two ran at a time: {begin}, {end}"
