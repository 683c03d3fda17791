"""How long writes take while a backup is taken."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

from bench.store_service import Service

_CALM_SECONDS = 5.0


def time_writes_during_backup(service: Service, folder: Path) -> dict[str, float]:
    """Return the longest writes before and during a backup, in milliseconds, and how long that took."""
    took: list[tuple[float, float]] = []
    stop = threading.Event()

    def write_row() -> None:
        # Straight to the database: what else an answer takes is not what a backup could hold up.
        with closing(sqlite3.connect(service.database, isolation_level=None, timeout=60)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            while not stop.is_set():
                start = time.perf_counter()
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("UPDATE series SET version = version WHERE id IN (1, 100)")
                connection.execute("COMMIT")
                took.append((start, 1000 * (time.perf_counter() - start)))
                time.sleep(0.002)

    writer = threading.Thread(target=write_row)
    writer.start()
    time.sleep(_CALM_SECONDS)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "service", "backup", str(folder / "copy.db")]
    subprocess.run(command, check=True, env=os.environ | {"FAULTWATCH_HOME": str(service.home)}, capture_output=True)
    end = time.perf_counter()
    time.sleep(1)
    stop.set()
    writer.join()
    calm = [span for start, span in took if start < begin]
    busy = [span for start, span in took if begin <= start]
    return {
        "seconds": end - begin,
        "writes": len(busy),
        "longest_before_ms": max(calm),
        "longest_ms": max(busy),
        "median_before_ms": sorted(calm)[len(calm) // 2],
        "median_ms": sorted(busy)[len(busy) // 2],
    }
