"""Senders and readers of a service that is disturbed, and what is in its database in the end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
import requests

from bench.scale_data import METRICS, Scale
from bench.store_service import UNSETTLED, query_number
from tests.operations.machine import PATIENCE, Machine

CASES = 5
STEP_EVERY = 10
"""Commits after which all cases take a step, up or down."""
PAGES = ("/", "/runs", "/hosts", "/environments", "/events", "/api/v1/runs", "/api/v1/drifts")


class Sender:
    """Sends the runs of a subject, commit by commit, each until it is acknowledged.

    Attributes
    ----------
    acknowledged
        Runs.
    answers
        How often it was answered what, where a run was not acknowledged.
    longest
        Seconds for which a run was not acknowledged.
    slowest
        Seconds of the slowest request, and its answer.
    """

    def __init__(self, subject: str, machines: Sequence[Machine]) -> None:
        self.data = Scale(subject, CASES)
        self.acknowledged, self.commits, self.longest = 0, 0, 0.0
        self.answers: Counter[str] = Counter()
        self.slowest = 0.0, ""
        self._machines = machines
        self._ended, self._abandoned = threading.Event(), False
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def await_more(self, runs: int = 20) -> None:
        """Wait until so many more runs are acknowledged."""
        until, deadline = self.acknowledged + runs, time.monotonic() + PATIENCE
        while self.acknowledged < until:
            assert time.monotonic() < deadline, dict(self.answers)
            time.sleep(0.02)

    def finish(self) -> None:
        """Send what is under way until it is acknowledged, and no more."""
        self._ended.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), f"a run is not acknowledged: {dict(self.answers)}"

    def abandon(self) -> None:
        """Send nothing any more, whether it is acknowledged or not."""
        self._abandoned = True
        self._ended.set()

    def _send(self) -> None:
        while not self._ended.is_set():
            moved = 1 if self.commits // STEP_EVERY % 2 else 0
            (body,) = self.data.batches(self.commits, CASES, moved=moved)
            began, attempts = time.monotonic(), 0
            # As a load balancer does: another machine each time.
            while not self._is_taken(self._machines[(self.commits + attempts) % len(self._machines)], body):
                if self._abandoned:
                    return
                attempts += 1
                time.sleep(0.05)
            self.longest = max(self.longest, time.monotonic() - began)
            self.acknowledged += CASES
            self.commits += 1

    def _is_taken(self, machine: Machine, body: bytes) -> bool:
        headers = {"Content-Type": "application/json"}
        began = time.monotonic()
        try:
            answer = requests.post(f"{machine.address}/api/v1/runs", body, headers=headers, timeout=PATIENCE)
        except requests.RequestException as error:
            found, is_taken = type(error).__name__, False
        else:
            found, is_taken = told(answer), answer.ok
        self.slowest = max(self.slowest, (time.monotonic() - began, found))
        if not is_taken:
            self.answers[found] += 1
        return is_taken


class Reader:
    """Opens pages, and notes what is answered other than the page."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.answers: Counter[str] = Counter()
        self.opened = 0
        self._machines = machines
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Open no more."""
        self._ended.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _read(self) -> None:
        while not self._ended.is_set():
            for machine in self._machines:
                for page in PAGES:
                    try:
                        answer = requests.get(f"{machine.address}{page}", timeout=PATIENCE)
                    except requests.RequestException as error:
                        self.answers[type(error).__name__] += 1
                        continue
                    if answer.ok:
                        self.opened += 1
                    else:
                        self.answers[told(answer)] += 1
            time.sleep(0.05)


def told(answer: requests.Response) -> str:
    """Return a status, and whether the service says when to come back."""
    return f"{answer.status_code}{' later' if answer.headers.get('Retry-After') else ''}"


@contextmanager
def sending(machines: Sequence[Machine], subjects: int = 2) -> Iterator[list[Sender]]:
    """Send runs of some subjects until the end of the block."""
    senders = [Sender(f"subject-{place}", machines) for place in range(subjects)]
    try:
        yield senders
    finally:
        for sender in senders:
            sender.abandon()


@contextmanager
def reading(machines: Sequence[Machine]) -> Iterator[Reader]:
    """Open pages until the end of the block."""
    reader = Reader(machines)
    try:
        yield reader
    finally:
        reader.finish()


def settle(url: str) -> None:
    """Wait until all is judged, and all events are made."""
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as connection:
        while query_number(connection, UNSETTLED):
            assert time.monotonic() < deadline, "something is never judged"
            time.sleep(0.2)


def look(url: str) -> dict[str, int]:
    """Return how many runs are stored, and how many things are wrong."""
    points = "(SELECT count(*) FROM point WHERE series_id = series.id)"
    questions = {
        "runs": "SELECT count(*) FROM run",
        "incomplete": f"SELECT count(*) FROM run WHERE {len(METRICS)} <> "
        "(SELECT count(*) FROM point WHERE run_number = number) OR number NOT IN (SELECT run_number FROM report)",
        "miscounted series": f"SELECT count(*) FROM series WHERE n_points <> {points}",
        "miscounted runs": "SELECT (SELECT count(*) FROM run) - (SELECT sum(runs) FROM run_count)",
        "miscounted environments": "SELECT (SELECT count(*) FROM run) - (SELECT sum(runs) FROM environment_count)",
        "numbered twice": "SELECT count(*) - count(DISTINCT number) FROM run",
    }
    with psycopg.connect(url) as connection:
        return {name: query_number(connection, question) for name, question in questions.items()}


def sound(runs: int) -> dict[str, int]:
    """Return what :func:`look` finds where nothing is wrong."""
    wrong = ("incomplete", "miscounted series", "miscounted runs", "miscounted environments", "numbered twice")
    return {"runs": runs, **dict.fromkeys(wrong, 0)}


def steps(url: str, sender: Sender) -> tuple[int, int]:
    """Return how many steps of a subject were found, and how many there are."""
    expected = max(0, (sender.commits - 1) // STEP_EVERY) * CASES
    with psycopg.connect(url) as connection:
        found = query_number(
            connection,
            "SELECT count(*) FROM drift JOIN series ON series.id = series_id JOIN subject ON subject.id = subject_id "
            f"WHERE metric = '{METRICS[0]}' AND name = '{sender.data.subject}'",
        )
    return found, expected
