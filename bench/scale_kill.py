"""kill -9 of service machines, their workers and PostgreSQL, while runs are sent: each is there, and is told, once."""

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

from bench.report import show_steps
from bench.scale_data import METRICS, Scale
from bench.store_service import UNSETTLED, Service, list_children, post_json, query_number, wait_for_zero
from tests.operations import receiver
from tests.service import postgres

MACHINES = 2
_CASES = 5
_LONGEST_SECONDS = 1.0
_PATIENCE = 120.0
_STEP_EVERY = 10
"""Commits after which all cases take a step, up or down: an event to send."""
_ROUND = 30
"""Kills of a round. During the last of them no runs are sent: they hit judging and notifications."""
_CALM = 8
_LONGEST_SECONDS_CALM = 6.0
_DELIVERED_WITHIN = 420.0
"""Seconds. A message whose sender was killed belongs to it for five minutes."""


class _Machine:
    """A service that is started again whenever it was killed, and a sender of runs about its own subject."""

    def __init__(self, number: int, home: Path, url: str) -> None:
        self.data = Scale(f"subject-{number}", _CASES)
        self.acknowledged = 0
        self.refused: Counter[str] = Counter()
        self._home, self._url = home, url
        self._ended = threading.Event()
        self.may_send = threading.Event()
        self.start()
        self._sender = threading.Thread(target=self._send_runs)

    def begin(self) -> None:
        """Begin to send."""
        self.may_send.set()
        self._sender.start()

    def start(self) -> None:
        """Start the service."""
        self.service = Service(self._home, url=self._url, workers=2)

    def finish(self) -> None:
        """Send the requests in flight until they are acknowledged, and no further ones."""
        self._ended.set()
        self.may_send.set()
        if self._sender.ident is not None:  # has begun
            self._sender.join(_PATIENCE)
        assert not self._sender.is_alive(), "a batch is not acknowledged"

    def stop(self) -> None:
        """End the service."""
        self.service.stop()

    def _send_runs(self) -> None:
        commit = 0
        while not self._ended.is_set():
            is_up = commit // _STEP_EVERY % 2 == 1
            (body,) = self.data.batches(commit, _CASES, moved=1 if is_up else 0)
            while not self._is_taken(body):
                time.sleep(0.05)
            self.acknowledged += _CASES
            commit += 1
            self.may_send.wait()

    def _is_taken(self, body: bytes) -> bool:
        try:
            with closing(self.service.connect()) as connection:
                post_json(connection, "/api/v1/runs", body)
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
        os.environ[receiver.ADDRESS], received = stack.enter_context(receiver.receiving())
        for home in homes:
            (home / "notifications.toml").write_text(receiver.SETTINGS)
        machines = [_Machine(number, home, server.url(name)) for number, home in enumerate(homes)]
        killed: Counter[str] = Counter()
        try:
            # A channel sends no events from before it was known.
            url = server.url(name)
            no_channel = wait_for_zero(url, "SELECT (SELECT count(*) FROM channel) = 0", "channels", _DELIVERED_WITHIN)
            assert not no_channel, "no round of notifications"
            for machine in machines:
                machine.begin()
            for kill in show_steps(range(kills), "kills"):
                is_calm = kill % _ROUND >= _ROUND - _CALM
                for machine in machines:
                    machine.may_send.clear() if is_calm else machine.may_send.set()
                time.sleep(chance.uniform(0, _LONGEST_SECONDS_CALM if is_calm else _LONGEST_SECONDS))
                victim = chance.choice(["machine", "worker", "database"])
                killed[victim] += 1
                _ATTACKS[victim](server, chance.choice(machines))
            for machine in machines:
                machine.finish()
            sent = _wait_for_deliveries(server.url(name), received)
        finally:
            for machine in machines:
                machine.finish()
                machine.stop()
        expected = sum(machine.acknowledged for machine in machines)
        with psycopg.connect(server.url(name)) as connection:
            found = _count_rows(connection)
    refused = sum((machine.refused for machine in machines), Counter())
    return {
        "kills": dict(killed),
        "acknowledged": expected,
        "lost or doubled": found.pop("runs") - expected,
        **found,
        **sent,
        "not acknowledged at once": dict(refused),
    }


def _kill_machine(_: postgres.Server, machine: _Machine) -> None:
    machine.service.kill()
    machine.start()


def _kill_worker(_: postgres.Server, machine: _Machine) -> None:
    workers = list_children(machine.service.process.pid)
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


def _wait_for_deliveries(url: str, received: Counter[str]) -> dict[str, int]:
    """Wait until nothing is left to judge or to send; return the outcomes of the messages."""
    left = wait_for_zero(url, f"{UNSETTLED} + ({receiver.WAITING})", "series, events and messages", _DELIVERED_WITHIN)
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute("SELECT DISTINCT message_id FROM delivery WHERE sent_at IS NOT NULL").fetchall()
        told = {str(key) for (key,) in rows}
        return {
            "messages": len(told),
            "events never sent": left,
            "messages never received": len(told - received.keys()),
            "messages of no event": len(received.keys() - told),
            "messages sent again with the same key": sum(received.values()) - len(received),
        }


def _count_rows(connection: psycopg.Connection) -> dict[str, int]:
    points = "(SELECT count(*) FROM point WHERE series_id = series.id)"
    return {
        "runs": query_number(connection, "SELECT count(*) FROM run"),
        "incomplete": query_number(
            connection,
            f"SELECT count(*) FROM run WHERE {len(METRICS)} <> (SELECT count(*) FROM point WHERE run_number = number)",
        )
        + query_number(connection, "SELECT count(*) FROM run WHERE number NOT IN (SELECT run_number FROM report)"),
        "miscounted": query_number(connection, f"SELECT count(*) FROM series WHERE n_points <> {points}"),
    }
