"""How fast runs are taken in through HTTP, against SQLite alone."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from queue import Empty, Queue

from bench import store_data
from bench.store_data import Size
from bench.store_service import Service, post_json

BATCH = 1000
"""Runs in a request."""
SENDERS = 3
_CHUNK = 500_000


def measure_bare_inserts(folder: Path, samples: int) -> tuple[float, float]:
    """Return how many samples bare executemany takes a second, by wall clock and by processor: one row each."""
    file = folder / "bare.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE sample (series INTEGER, run INTEGER, place INTEGER, value NUMERIC)")
        rows, wall, cpu, taken = _generate_rows(), 0.0, 0.0, 0
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


def ingest_runs(
    service: Service, size: Size, progress: Callable[[str], None], first_commit: int = 0
) -> tuple[float, float]:
    """Send all runs in batches; return how many samples were taken a second, by wall clock and by processor.

    The batches are made before: who sends them shares the machine.
    """
    folder = service.home / "batches"
    folder.mkdir()
    for number, (_, body) in enumerate(store_data.generate_batches(size, BATCH, first_commit)):
        (folder / f"{number:06}").write_bytes(body)
        progress(f"{(number + 1) * BATCH:,} of {size.runs:,} runs made")
    bodies: Queue[Path] = Queue()
    for file in sorted(folder.iterdir()):
        bodies.put(file)
    cpu, start = service.cpu_seconds(), time.perf_counter()

    def send_batches(_: int) -> None:
        with closing(service.connect()) as connection:
            while True:
                try:
                    file = bodies.get_nowait()
                except Empty:
                    return
                post_json(connection, "/api/v1/runs", file.read_bytes())
                progress(f"{bodies.qsize() * BATCH:,} runs left, {time.perf_counter() - start:.0f} s")

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send_batches, range(SENDERS)))
    found = size.samples / (time.perf_counter() - start), size.samples / (service.cpu_seconds() - cpu)
    shutil.rmtree(folder)
    return found


def _generate_rows() -> Iterator[Sequence[int | float]]:
    case = commit = 0
    while True:
        for place, values in enumerate(store_data.make_values(case % 100, commit)):
            for metric, value in enumerate(values):
                yield case % 100 * len(values) + metric, commit * 100 + case % 100, place, value
        case += 1
        commit += case % 100 == 0
