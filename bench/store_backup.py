"""How long writes take while a backup is taken."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

from bench import store_data
from bench.store_data import Size
from bench.store_service import Service, post

_RUNS = 3
"""Runs in a request: a small write, so that waiting shows."""
_CALM_SECONDS = 5.0


def during_backup(service: Service, folder: Path) -> dict[str, float]:
    """Return the longest writes before and during a backup, in milliseconds, and how long that took."""
    took: list[tuple[float, float]] = []
    stop = threading.Event()

    def write() -> None:
        with closing(service.connect()) as connection:
            for _, body in store_data.batches(Size(_RUNS, 1_000_000), _RUNS, first_commit=1_000_000):
                if stop.is_set():
                    return
                start = time.perf_counter()
                post(connection, "/api/v1/runs", body)
                took.append((start, 1000 * (time.perf_counter() - start)))
                time.sleep(0.01)

    writer = threading.Thread(target=write)
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
