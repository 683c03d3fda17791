"""How fast runs are taken in through HTTP, against SQLite alone."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from queue import Queue

from bench import store_data
from bench.store_data import Size
from bench.store_service import Service, post

BATCH = 1000
"""Runs in a request."""
SENDERS = 3
_CHUNK = 500_000


def bare(folder: Path, samples: int) -> tuple[float, float]:
    """Return how many samples bare executemany takes a second, by wall clock and by processor: one row each."""
    file = folder / "bare.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE sample (series INTEGER, run INTEGER, place INTEGER, value NUMERIC)")
        rows, wall, cpu, taken = _rows(), 0.0, 0.0, 0
        while taken < samples:
            chunk = list(islice(rows, min(_CHUNK, samples - taken)))
            clocks = time.perf_counter(), time.process_time()
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO sample VALUES (?, ?, ?, ?)", chunk)
            connection.execute("COMMIT")
            wall += time.perf_counter() - clocks[0]
            cpu += time.process_time() - clocks[1]
            taken += len(chunk)
    for left in folder.glob("bare.db*"):
        left.unlink()
    return samples / wall, samples / cpu


def ingest(service: Service, size: Size, progress: Callable[[str], None]) -> tuple[float, float]:
    """Send all runs in batches; return how many samples were taken a second, by wall clock and by processor."""
    bodies: Queue[bytes | None] = Queue(maxsize=2 * SENDERS)
    done = 0
    cpu, start = service.cpu_seconds(), time.perf_counter()

    def send(_: int) -> None:
        nonlocal done
        with closing(service.connect()) as connection:
            while (body := bodies.get()) is not None:
                post(connection, "/api/v1/runs", body)
                done += BATCH
                progress(f"{done:,} of {size.runs:,} runs, {done / (time.perf_counter() - start):,.0f} a second")

    with ThreadPoolExecutor(SENDERS) as pool:
        senders = [pool.submit(send, number) for number in range(SENDERS)]
        for _, body in store_data.batches(size, BATCH):
            bodies.put(body)
        for _ in senders:
            bodies.put(None)
        for sender in senders:
            sender.result()
    return size.samples / (time.perf_counter() - start), size.samples / (service.cpu_seconds() - cpu)


def progress(text: str) -> None:
    """Show how far it is."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


def _rows() -> Iterator[Sequence[int | float]]:
    case = commit = 0
    while True:
        for place, values in enumerate(store_data.values(case % 100, commit)):
            for metric, value in enumerate(values):
                yield case % 100 * len(values) + metric, commit * 100 + case % 100, place, value
        case += 1
        commit += case % 100 == 0
