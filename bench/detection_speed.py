"""How long detection takes, in processor time: whole series, appends, many short series."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from bench.detection_peers import Peer
from bench.detection_series import KINDS, Setting, draw_series
from service.rules.detect import LevelChangeDetector, find_level_changes

Rng = np.random.Generator


def _measure_best(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of several runs, in ms."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times) * 1e3


def _draw_series(rng: Rng, kind: str, n: int) -> list[float]:
    return draw_series(kind, rng, Setting(steps=(n // 100, n // 60), spacing=6), n).values


def draw_all(rng: Rng, n: int) -> dict[str, list[float]]:
    """Draw one series of ``n`` points of each kind."""
    return {kind: _draw_series(rng, kind, n) for kind in KINDS}


def time_whole_series(drawn: dict[str, list[float]]) -> dict[str, float]:
    """Return the ms that each series takes, read as a whole."""
    return {
        kind: round(_measure_best(lambda values=values: find_level_changes(values)), 3)
        for kind, values in drawn.items()
    }


def time_peer(drawn: dict[str, list[float]], peer: Peer) -> dict[str, float]:
    """Return the ms that each series takes another detector, the better of two runs."""
    result = {}
    for kind, values in drawn.items():
        times = []
        for _ in range(2):
            peer(values)
            times.append(peer.seconds * 1e3)
        result[kind] = round(min(times), 3)
    return result


def time_appends(rng: Rng, n: int, more: int = 800) -> dict[str, float]:
    """Return the mean µs of appending to a series of ``n`` points, by kind."""
    result = {}
    for kind in ("jitter", "gaussian", "outliers", "bimodal", "zero"):
        values = _draw_series(rng, kind, n + more)
        series = LevelChangeDetector()
        series.extend(values[:n])
        series.find_changes()
        begin = time.process_time()
        for value in values[n:]:
            series.append(value)
        result[kind] = round((time.process_time() - begin) / more * 1e6, 1)
    return result


def time_many_series(rng: Rng, count: int = 300) -> float:
    """Return the seconds that 100,000 series of 500 points take on one core, from ``count`` of them."""
    kinds = list(KINDS)
    drawn = [_draw_series(rng, kinds[i % len(kinds)], 500) for i in range(count)]
    begin = time.process_time()
    for values in drawn:
        find_level_changes(values)
    return (time.process_time() - begin) / count * 100_000
