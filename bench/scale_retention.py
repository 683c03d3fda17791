"""Retention of nine tenths of a store while runs arrive and pages are opened: who waits, and what the disk has back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from bench import scale_store
from bench.report import show_progress
from bench.store_data import START, SUBJECT, Size, generate_batches
from bench.store_service import Service, fetch_page, post_json, query_number
from service.store.engine.database import Database
from service.store.engine.table_partitions import TABLES
from service.store.maintenance.retention import RetentionRule, apply_rule
from tests.service import postgres

CASES = 100
_BATCH, _PAUSE = 25, 0.9
"""Runs that arrive at once, and the seconds between: a nightly run of 100,000 in an hour."""
_PAGES = ("/", "/matrix", "/runs", f"/api/v1/drifts?subject={SUBJECT}&limit=50", "/api/v1/series?limit=50", "/series/1")


def measure_retention(copies: int) -> dict[str, Any]:
    """Load this many times ten million samples, the tenths in their own parts; reduce all but the last tenth.

    Returns
    -------
    dict
        The figures: samples, seconds, bytes before and after, and the slowest request of each kind, in seconds, with
        the second at which it began.
    """
    with ExitStack() as stack:
        server = stack.enter_context(postgres.running())
        url = server.url(server.create())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="faultwatch-bench-")))
        started = time.monotonic()
        scale_store.load_file(scale_store.draw_large(folder, copies), url)
        service = Service(folder / "home", url=url)
        stack.callback(service.stop)
        scale_store.wait_until_judged(url)
        stored, size = time.monotonic() - started, scale_store.LARGE
        last = START + timedelta(days=400, seconds=60 * (size.commits - size.commits // scale_store.TENTHS))
        started_at = time.monotonic()
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute("VACUUM ANALYZE")
            before = _measure_bytes(connection)
            drifts = _list_drift_ids(connection)
            with _Traffic(service, size.commits) as slowest:
                command = [sys.executable, "-m", "bench.scale_retention", url, last.isoformat()]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            seconds = time.monotonic() - started_at
            after = _measure_bytes(connection)
            missing = len(drifts - _list_drift_ids(connection))
    return {
        "samples": size.samples * copies,
        "seconds to store": round(stored),
        "seconds to reduce": round(seconds),
        "MB of the old parts before": before >> 20,
        "MB of the old parts after": after >> 20,
        "drifts missing": missing,
        "said": done.stdout.strip(),
        "slowest requests": {what: [round(most, 2), round(at)] for what, (most, at) in slowest.items()},
    }


class _Traffic:
    """Sends runs and opens pages, one after the other each, until it ends; knows the slowest of each."""

    def __init__(self, service: Service, commits: int) -> None:
        self._over = threading.Event()
        self._began = time.monotonic()
        self._slowest = dict.fromkeys(("store runs", *_PAGES), (0.0, 0.0))
        self._failed: list[BaseException] = []
        new = generate_batches(Size(CASES, 10_000), _BATCH, commits)
        tasks: list[Callable[[HTTPConnection], None]] = [
            lambda connection: self._time_task(
                "store runs", lambda: post_json(connection, "/api/v1/runs", next(new)[1])
            ),
            self._open_pages,
        ]
        pauses = _PAUSE, 0.1
        self._threads = [
            threading.Thread(target=self._repeat_task, args=(service, *task))
            for task in zip(tasks, pauses, strict=True)
        ]

    def __enter__(self) -> dict[str, tuple[float, float]]:
        for thread in self._threads:
            thread.start()
        return self._slowest

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    def _repeat_task(self, service: Service, task: Callable[[HTTPConnection], None], pause: float) -> None:
        try:
            with closing(service.connect()) as connection:
                while not self._over.is_set():
                    task(connection)
                    time.sleep(pause)
        except BaseException as error:
            self._failed.append(error)

    def _open_pages(self, connection: HTTPConnection) -> None:
        for page in _PAGES:
            self._time_task(page, lambda page=page: fetch_page(connection, page))

    def _time_task(self, what: str, do: Callable[[], object]) -> None:
        started_at = time.monotonic()
        do()
        spent, at = time.monotonic() - started_at, started_at - self._began
        self._slowest[what] = max(self._slowest[what], (spent, at))
        if spent > 1:
            show_progress(f"{what} took {spent:.2f} s, {at:.0f} s after the beginning", now=True)


def _measure_bytes(connection: psycopg.Connection[tuple[int]]) -> int:
    """Return the size in bytes of the partitions that are to be reduced."""
    old = [f"{table}_p{tenth}" for table in TABLES for tenth in range(scale_store.TENTHS - 1)]
    return sum(query_number(connection, f"SELECT pg_total_relation_size('{part}')") for part in old)


def _list_drift_ids(connection: psycopg.Connection[Any]) -> set[str]:
    """Return the ids of all drifts."""
    return {name for (name,) in connection.execute("SELECT id FROM drift")}


def main() -> None:
    """Reduce what is stored at an address from before a time, as the command does."""
    os.nice(10)
    database = Database(sys.argv[1])
    rule = RetentionRule(reduce_before=datetime.fromisoformat(sys.argv[2]))
    print(apply_rule(database, rule, lambda done, total: show_progress(f"{done:,} of {total:,} runs reduced")))
    database.close()


if __name__ == "__main__":
    main()
