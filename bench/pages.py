"""How fast each page comes with ten million samples stored, against the same page of a nearly empty database.

``python -m bench.pages [MILLIONS [HOME]]``: fills a database, or takes the one that is in HOME and leaves it there.
Server time is what a client on this machine waits for, one request after the other, over a real service; processor time
is what the service spent, which other programs on the machine do not add to. First contentful paint is Chromium's own
figure.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from bench import store_data
from bench.report import finish, progress, steps
from bench.store_data import SAMPLES, Size
from bench.store_service import Service, get, post
from tests.e2e.browser import chromium, launched

MILLIONS = 10
BATCH = 200
LIMIT, PAINT_LIMIT = 100.0, 1000.0
"""Milliseconds: of server time at the 95th percentile, and until the first contentful paint."""
REQUESTS = 40
PAINTS = 3
QUIET = 5
"""Seconds without anything new after which all is judged."""
LONG = 10_000
"""Runs of the one long series."""


_FIRST_PAINT = """() => new Promise((told) => new PerformanceObserver((list) => {
  const [first] = list.getEntriesByName("first-contentful-paint");
  if (first) told(first.startTime);
}).observe({ type: "paint", buffered: true }))"""


@dataclass(frozen=True, slots=True)
class Timing:
    """What one page takes, in milliseconds and bytes."""

    first: float
    p95: float
    cpu: float
    again: float
    """Where the client has the page already, and it still holds."""
    size: int


def main(millions: float = MILLIONS, home: str | None = None) -> None:
    """Measure every page on both databases."""
    cases = max(1, round(millions * 1e6 / (1000 * SAMPLES * len(store_data.METRICS))))
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        small, small_paint = _measured(Path(folder, "small"), [(Size(1, 20), 0)])
        sizes = [(Size(cases, 1000), 0), (Size(1, LONG - 1000), 1000)]
        large, paint = _measured(Path(home) if home else Path(folder, "large"), sizes)
    print(
        "".join(f"{title:>12}" for title in ("first", "p95", "processor", "again", "small p95", "painted")) + "  page"
    )
    for name, took in large.items():
        times = (took.first, took.p95, took.cpu, took.again, small[name].p95, paint[name])
        print("".join(f"{at:>9.1f} ms" for at in times) + f"  {name}, {took.size / 1000:.0f} kB")
    misses = [f"{name}: p95 {took.p95:.0f} ms, over {LIMIT:g} ms" for name, took in large.items() if took.p95 > LIMIT]
    misses += [f"{name}: painted after {at:.0f} ms" for name, at in paint.items() if at > PAINT_LIMIT]
    figures = {
        "samples": sum(size.samples for size, _ in sizes),
        "p95_ms": {name: round(took.p95, 1) for name, took in large.items()},
        "cpu_ms": {name: round(took.cpu, 1) for name, took in large.items()},
        "again_ms": {name: round(took.again, 1) for name, took in large.items()},
        "ratio": {name: round(took.p95 / small[name].p95, 1) for name, took in large.items()},
        "paint_ms": {name: round(at) for name, at in paint.items()},
        "small_paint_ms": {name: round(at) for name, at in small_paint.items()},
    }
    finish("pages", misses, figures)


def _measured(home: Path, sizes: list[tuple[Size, int]]) -> tuple[dict[str, Timing], dict[str, float]]:
    with _serving(home, sizes) as service:
        with closing(service.connect()) as connection:
            pages = _pages(connection)
            timings = {name: _time(service, connection, path) for name, path in steps(pages.items(), "pages")}
        if chromium() is None:
            return timings, dict.fromkeys(pages, 0.0)
        with sync_playwright() as playwright, launched(playwright) as browser:
            root = f"http://127.0.0.1:{service.port}"
            return timings, {name: _paint(browser, root + path) for name, path in steps(pages.items(), "pages painted")}


@contextmanager
def _serving(home: Path, sizes: list[tuple[Size, int]]) -> Iterator[Service]:
    filled = (home / "faultwatch.db").exists()
    service = Service(home)
    try:
        if not filled:
            _fill(service, sizes)
        yield service
    finally:
        service.stop()


def _fill(service: Service, sizes: list[tuple[Size, int]]) -> None:
    with closing(service.connect()) as connection:
        for size, first in sizes:
            batches = store_data.batches(size, BATCH, first)
            for _, body in steps(batches, f"batches of {BATCH} runs", math.ceil(size.runs / BATCH)):
                post(connection, "/api/v1/runs", body)
        settled, state = 0, b""  # large batches are judged once it is quiet
        while settled < QUIET:
            progress("waiting until all series are judged")
            time.sleep(1)
            now = get(connection, "/live")
            settled, state = settled + 1 if now == state else 0, now


def _pages(connection: HTTPConnection) -> dict[str, str]:
    """Return the address of one page of each kind."""

    def of(path: str) -> Any:
        return json.loads(get(connection, path))

    run = of("/api/v1/runs?limit=1")["items"][0]
    drifts, events = of("/api/v1/drifts?limit=1")["items"], of("/events.json?state=all")["items"]
    series = of("/api/v1/series?metric=minor-faults&limit=1000")["items"]
    long = max(series, key=lambda one: one["n_points"])["id"]
    usual = min(series, key=lambda one: one["n_points"])["id"]
    older = of("/api/v1/runs?limit=1&offset=10")["items"][0]
    found = {
        "overview": "/",
        "matrix": "/matrix",
        "series": f"/series/{usual}",
        "series, 10,000 runs": f"/series/{long}",
        "compare": f"/compare?base={older['revision']}&head={run['revision']}",
        "compare, all metrics": f"/compare?base={older['revision']}&head={run['revision']}&metric=all",
        "run": f"/runs/{run['run_id']}",
        "runs": "/runs",
        "events": "/events?state=all",
        "workloads": "/workloads",
        "case": f"/cases/{of('/workloads.json')[0]['key']}",
        "hosts": "/hosts",
        "host": f"/hosts/{run['host']}",
        "environments": "/environments",
        "environment": f"/environments/{run['environment']}",
        "search": "/search?q=number",
        "silences": "/silences",
        "jobs": "/jobs?state=all",
        "bisects": "/bisects",
        "profiles": "/profiles",
        "settings": "/settings",
        "tokens": "/tokens",
    }
    found["drift"] = f"/drifts/{drifts[0]['id']}" if drifts else found["events"]
    found["event"] = f"/events/{events[0]['id']}" if events else found["events"]
    return found


def _time(service: Service, connection: HTTPConnection, path: str) -> Timing:
    took, size = [], 0
    cpu = 0.0
    for number in range(REQUESTS + 1):
        if number == 1:
            cpu = service.cpu_seconds()
        began = time.perf_counter()
        size = len(get(connection, path))
        took.append(1000 * (time.perf_counter() - began))
    spent = 1000 * (service.cpu_seconds() - cpu) / REQUESTS
    return Timing(took[0], sorted(took[1:])[int(0.95 * REQUESTS)], spent, _again(connection, path), size)


def _again(connection: HTTPConnection, path: str) -> float:
    """Return how long a client that has the page waits to hear that it still holds."""
    tag, took = "", list[float]()
    for _ in range(REQUESTS // 4):
        began = time.perf_counter()
        connection.request("GET", path, headers={"If-None-Match": tag} if tag else {})
        answer = connection.getresponse()
        answer.read()
        took.append(1000 * (time.perf_counter() - began))
        tag = answer.headers.get("ETag", "")
    return statistics.median(took[1:])


def _paint(browser: Browser, address: str) -> float:
    """Return when something was to be seen first, as a reader who was never here before has it."""
    painted = []
    for _ in range(PAINTS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(address, wait_until="load")
        painted.append(page.evaluate(_FIRST_PAINT))
        context.close()
    return statistics.median(painted)


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((float, str), sys.argv[1:], strict=False)))
