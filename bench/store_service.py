"""A real service for benchmarks: gunicorn in its own processes, on its own database."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import psycopg

from bench.report import show_progress

PATIENCE = 120
REST_SECONDS = 120
"""How long at most a service is left alone after it was filled."""
IDLE_SHARE = 0.05
"""Of a processor: what a service that has nothing to do uses."""


class Service:
    """A service that runs until it is stopped or killed."""

    def __init__(self, home: Path, workers: int = 1, url: str | None = None) -> None:
        self.home = home
        variables = {"FAULTWATCH_HOME": str(home), "FAULTWATCH_WORKERS": str(workers)}
        if url is not None:
            variables["DATABASE_URL"] = url
        port_file = home / "port"
        home.mkdir(parents=True, exist_ok=True)
        port_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "service", "serve", "--port", "0", "--port-file", port_file),
                *("--parent", str(os.getpid())),  # whatever becomes of the benchmark, it leaves no service behind
            ],
            env=os.environ | variables,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that all of it can be killed at once
        )
        deadline = time.monotonic() + PATIENCE
        while not port_file.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the service does not start")
            time.sleep(0.01)
        self.port = int(port_file.read_text())

    @property
    def database(self) -> Path:
        """The file that it stores everything in."""
        return self.home / "faultwatch.db"

    def connect(self) -> HTTPConnection:
        """Return a connection."""
        return HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def stop(self) -> None:
        """Stop the service as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Kill all of its processes at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def cpu_seconds(self) -> float:
        """Return the processor time of all its processes so far."""
        return cpu_seconds(self.process.pid)

    def wait_for_rest(self) -> None:
        """Wait until hardly any background work is left, such as table statistics; give up after a while."""
        for _ in range(REST_SECONDS):
            before = self.cpu_seconds()
            time.sleep(1)
            if self.cpu_seconds() - before < IDLE_SHARE:
                return


def cpu_seconds(process: int) -> float:
    """Return the processor time of a process, of its living children, and of those that it has waited for."""
    ticks = 0
    for one in (process, *list_children(process)):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15] if one == process else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def list_children(process: int) -> Sequence[int]:
    """Return the living children of a process."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def post_json(connection: HTTPConnection, path: str, body: bytes) -> bytes:
    """Send JSON; return the response."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{path}: {answer.status} {told[:500]!r}")
    return told


def fetch_page(connection: HTTPConnection, path: str) -> bytes:
    """Return the page at an address."""
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
    except ConnectionError:  # the service ends one that was idle for long
        connection.close()
        connection.request("GET", path)
        answer = connection.getresponse()
    told = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{path}: {answer.status} {told[:500]!r}")
    return told


UNSETTLED = (
    "SELECT (SELECT count(*) FROM series WHERE judged AND version <> judged_version)"
    " + (SELECT count(*) FROM subject WHERE drifts_version <> events_version)"
)
"""Asks how many series are to be judged, and how many subjects lack events of their drifts."""


def query_number(connection: psycopg.Connection[Any], question: str) -> int:
    """Return the number that a query of PostgreSQL yields; 0 for none."""
    row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return int(row[0] or 0)


def wait_for_zero(url: str, question: str, what: str, patience: float) -> int:
    """Wait until a query of PostgreSQL yields 0, at most for a time; return the last number."""
    deadline = time.monotonic() + patience
    with psycopg.connect(url, autocommit=True) as connection:
        while (left := query_number(connection, question)) and time.monotonic() < deadline:
            show_progress(f"{left:,} {what} wait")
            time.sleep(0.2)
    return left


def wait_until_judged(database: Path) -> None:
    """Wait until every series is judged and all events are made: large batches are judged in the background."""
    with closing(sqlite3.connect(database)) as connection:
        while left := connection.execute(UNSETTLED).fetchone()[0]:
            show_progress(f"{left:,} series and subjects wait for their drifts and events")
            time.sleep(1)
