"""kill -9 of service machines, of their workers and of PostgreSQL, while runs are sent: each is there once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from bench.report import steps
from bench.scale_data import METRICS, Scale
from bench.store_service import Service, children, post
from tests.service import postgres

MACHINES = 2
_CASES = 5
_LONGEST_SECONDS = 1.0
_PATIENCE = 120.0


class _Machine:
    """A service that is started again whenever it was killed, and a sender of runs about a subject of its own."""

    def __init__(self, number: int, home: Path, url: str) -> None:
        self.data = Scale(f"subject-{number}", _CASES)
        self.acknowledged = 0
        self.refused: Counter[str] = Counter()
        self._home, self._url = home, url
        self._ended = threading.Event()
        self.start()
        self._sender = threading.Thread(target=self._send)
        self._sender.start()

    def start(self) -> None:
        """Start the service."""
        self.service = Service(self._home, url=self._url, workers=2)

    def stop(self) -> None:
        """Send what is under way until it is acknowledged, and end."""
        self._ended.set()
        self._sender.join(_PATIENCE)
        assert not self._sender.is_alive(), "a batch is not acknowledged"
        self.service.stop()

    def _send(self) -> None:
        commit = 0
        while not self._ended.is_set():
            (body,) = self.data.batches(commit, _CASES)
            while not self._is_taken(body):
                time.sleep(0.05)
            self.acknowledged += _CASES
            commit += 1

    def _is_taken(self, body: bytes) -> bool:
        try:
            with closing(self.service.connect()) as connection:
                post(connection, "/api/v1/runs", body)
        except (OSError, HTTPException) as error:
            self.refused[type(error).__name__] += 1
        except RuntimeError as error:  # the answer of a service whose database is away
            self.refused[str(error).split()[1]] += 1
        else:
            return True
        return False


def kill_often(kills: int) -> dict[str, object]:
    """Kill at random moments; return what became of the runs."""
    chance = random.Random()
    with ExitStack() as stack:
        server = stack.enter_context(postgres.running())
        name = server.create()
        homes = [Path(stack.enter_context(TemporaryDirectory(prefix="faultwatch-bench-"))) for _ in range(MACHINES)]
        machines = [_Machine(number, home, server.url(name)) for number, home in enumerate(homes)]
        killed: Counter[str] = Counter()
        try:
            for _ in steps(range(kills), "kills"):
                time.sleep(chance.uniform(0, _LONGEST_SECONDS))
                victim = chance.choice(["machine", "worker", "database"])
                killed[victim] += 1
                _ATTACKS[victim](server, chance.choice(machines))
        finally:
            for machine in machines:
                machine.stop()
        expected = sum(machine.acknowledged for machine in machines)
        with psycopg.connect(server.url(name)) as connection:
            found = _look(connection)
    refused = sum((machine.refused for machine in machines), Counter())
    return {
        "kills": dict(killed),
        "acknowledged": expected,
        "lost or doubled": found.pop("runs") - expected,
        **found,
        "not acknowledged at once": dict(refused),
    }


def _kill_machine(_: postgres.Server, machine: _Machine) -> None:
    machine.service.kill()
    machine.start()


def _kill_worker(_: postgres.Server, machine: _Machine) -> None:
    workers = children(machine.service.process.pid)
    if workers:
        with suppress(ProcessLookupError):
            os.kill(workers[-1], signal.SIGKILL)


def _kill_database(server: postgres.Server, _: _Machine) -> None:
    server.kill()
    server.start()


_ATTACKS: dict[str, Callable[[postgres.Server, _Machine], None]] = {
    "machine": _kill_machine,
    "worker": _kill_worker,
    "database": _kill_database,
}


def _look(connection: psycopg.Connection) -> dict[str, int]:
    def number(query: str) -> int:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])

    points = "(SELECT count(*) FROM point WHERE series_id = series.id)"
    return {
        "runs": number("SELECT count(*) FROM run"),
        "incomplete": number(
            f"SELECT count(*) FROM run WHERE {len(METRICS)} <> (SELECT count(*) FROM point WHERE run_number = number)"
        )
        + number("SELECT count(*) FROM run WHERE number NOT IN (SELECT run_number FROM report)"),
        "miscounted": number(f"SELECT count(*) FROM series WHERE n_points <> {points}"),
    }
