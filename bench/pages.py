"""How fast each page comes with ten million samples and ten thousand open events stored, against a small database.

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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

from bench import store_data
from bench.report import finish_report, show_progress, show_steps
from bench.store_data import SAMPLES, Size
from bench.store_service import Service, fetch_page, post_json, wait_until_judged
from tests.e2e.browser import chromium, launched

MILLIONS = 10
BATCH = 200
LIMIT, PAINT_LIMIT = 100.0, 1000.0
"""Milliseconds: of server time at the 95th percentile, and until the first contentful paint."""
REQUESTS = 40
PAINTS = 3
STARTED_SECONDS = 62
"""After which a service has compiled the templates of its pages, which slows the pages of that second down."""
QUIET = 5
"""Seconds until a refused batch is sent again."""
LONG = 10_000
"""Runs of the one long series."""
EVENTS = 10_000
"""Open events, at least: nearly each commit of their subjects moves one case."""
OPEN_SHARE = 0.75
"""Of the steps of their subjects: about one in four is undone by a later one, and its event is closed."""
COMMITS, STEPPING = 500, 4
"""Commits and cases of each of these subjects."""
_ATTEMPTS = 20
NEVER = "0123abcd"
"""The beginning of a hash that no commit has."""
WIRE_LIMIT = 60_000
"""Bytes of the first page as a browser that accepts compressed answers gets it."""


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
    """If the client has the page already, and it still holds."""
    size: int
    wire: int
    """Bytes, compressed as a browser accepts it."""


def main(millions: float = MILLIONS, home: str | None = None) -> None:
    """Measure every page on both databases."""
    cases = max(1, round(millions * 1e6 / (1000 * SAMPLES * len(store_data.METRICS))))
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        small, small_paint, _ = _measure_pages(Path(folder, "small"), [(Size(1, 20), 0)], 1)
        sizes = [(Size(cases, 1000), 0), (Size(1, LONG - 1000), 1000)]
        large, paint, events = _measure_pages(
            Path(home) if home else Path(folder, "large"), sizes, math.ceil(EVENTS / OPEN_SHARE / COMMITS)
        )
    print(
        "".join(f"{title:>12}" for title in ("first", "p95", "processor", "again", "small p95", "painted")) + "  page"
    )
    for name, took in large.items():
        times = (took.first, took.p95, took.cpu, took.again, small[name].p95, paint[name])
        sizes_ = f"{took.size / 1000:.0f} kB, {took.wire / 1000:.0f} kB on the wire"
        print("".join(f"{at:>9.1f} ms" for at in times) + f"  {name}, {sizes_}")
    misses = [f"{name}: p95 {took.p95:.0f} ms, over {LIMIT:g} ms" for name, took in large.items() if took.p95 > LIMIT]
    misses += [f"{name}: painted after {at:.0f} ms" for name, at in paint.items() if at > PAINT_LIMIT]
    if chromium() is None:
        misses.append("no Chromium is installed, so that no paint was measured: sudo setup/system-packages tests")
    if large["first page"].wire > WIRE_LIMIT:
        misses.append(f"first page: {large['first page'].wire:,} bytes on the wire, over {WIRE_LIMIT:,}")
    if events < EVENTS:
        misses.append(f"{events:,} open events are stored, fewer than {EVENTS:,}")
    figures = {
        "events": events,
        "wire_bytes": {name: took.wire for name, took in large.items()},
        "samples": sum(size.samples for size, _ in sizes),
        "p95_ms": {name: round(took.p95, 1) for name, took in large.items()},
        "cpu_ms": {name: round(took.cpu, 1) for name, took in large.items()},
        "again_ms": {name: round(took.again, 1) for name, took in large.items()},
        "ratio": {name: round(took.p95 / small[name].p95, 1) for name, took in large.items()},
        "paint_ms": {name: round(at) for name, at in paint.items()},
        "small_paint_ms": {name: round(at) for name, at in small_paint.items()},
    }
    finish_report("pages", misses, figures)


def _measure_pages(
    home: Path, sizes: list[tuple[Size, int]], subjects: int
) -> tuple[dict[str, Timing], dict[str, float], int]:
    with _serve_store(home, sizes, subjects) as service:
        with closing(service.connect()) as connection:
            pages = _list_pages(connection)
            events = json.loads(fetch_page(connection, "/api/v1/events?open=true&limit=1"))["total"]
            timings = {name: _time_page(service, connection, path) for name, path in show_steps(pages.items(), "pages")}
        if chromium() is None:
            return timings, dict.fromkeys(pages, 0.0), events
        with sync_playwright() as playwright, launched(playwright) as browser:
            root = f"http://127.0.0.1:{service.port}"
            painted = {
                name: _time_first_paint(browser, root + path)
                for name, path in show_steps(pages.items(), "pages painted")
            }
            return timings, painted, events


@contextmanager
def _serve_store(home: Path, sizes: list[tuple[Size, int]], subjects: int) -> Iterator[Service]:
    filled = (home / "faultwatch.db").exists()
    service = Service(home)
    try:
        if not filled:
            _fill_store(service, sizes, subjects)
        wait_until_judged(service.database)
        time.sleep(STARTED_SECONDS)
        service.wait_for_rest()
        yield service
    finally:
        service.stop()


def _fill_store(service: Service, sizes: list[tuple[Size, int]], subjects: int) -> None:
    with closing(service.connect()) as connection:
        for size, first in sizes:
            batches = store_data.generate_batches(size, BATCH, first)
            for _, body in show_steps(batches, f"batches of {BATCH} runs", math.ceil(size.runs / BATCH)):
                post_json(connection, "/api/v1/runs", body)
        for number in range(subjects):
            show_progress(f"events of subject {number + 1} of {subjects}")
            _post_in_turn(connection, store_data.build_stepping_batch(f"library-{number}", COMMITS, STEPPING))


def _post_in_turn(connection: HTTPConnection, body: bytes) -> None:
    """Send runs; while the service writes five hundred events at once, wait for it."""
    for attempt in range(_ATTEMPTS):
        try:
            post_json(connection, "/api/v1/runs", body)
        except (RuntimeError, ConnectionError) as error:
            if attempt == _ATTEMPTS - 1 or (isinstance(error, RuntimeError) and " 503 " not in str(error)):
                raise
            connection.close()
            time.sleep(QUIET)
        else:
            return


def _list_pages(connection: HTTPConnection) -> dict[str, str]:
    """Return the address of one page of each kind."""

    def of(path: str) -> Any:
        return json.loads(fetch_page(connection, path))

    run = of("/api/v1/runs?limit=1")["items"][0]
    drifts, events = of("/api/v1/drifts?limit=1")["items"], of("/events.json?state=all")["items"]
    series = of("/api/v1/series?metric=minor-faults&limit=1000")["items"]
    long = max(series, key=lambda one: one["n_points"])["id"]
    usual = min(series, key=lambda one: one["n_points"])["id"]
    older = of("/api/v1/runs?limit=1&offset=10")["items"][0]
    found = {
        "first page": "/",
        "first page, the last": "/?since=all&offset=9900",
        "first page, by host and size": f"/?since=all&host={run['host']}&sort=size&direction=regression",
        "first page, folded": "/?folded=1&since=all",
        "judged series": "/series",
        "matrix": "/matrix",
        "series": f"/series/{usual}",
        "series, 10,000 runs": f"/series/{long}",
        "compare": f"/compare?base={older['revision']}&head={run['revision']}",
        "compare, all metrics": f"/compare?base={older['revision']}&head={run['revision']}&metric=all",
        "run": f"/runs/{run['run_id']}",
        "runs": "/runs",
        "events": "/events",
        "events of all states": "/events?state=all&sort=committed",
        "workloads": "/workloads",
        "case": f"/cases/{of('/workloads.json')[0]['key']}",
        "hosts": "/hosts",
        "host": f"/hosts/{run['host']}",
        "environments": "/environments",
        "environment": f"/environments/{run['environment']}",
        "search": "/search?q=number",
        "search, by date": "/search?q=2025-01-15",
        "not measured": f"/runs?subject=library-0&revision={NEVER}",
        "releases": "/releases",
        "what changed": "/releases/2025-01-05...2025-01-20?subject=library-0",
        "bisect, previewed": f"/bisects?{urlencode(_fill_bisect_form(of))}",
        "subjects": "/subjects",
        "audit": "/audit",
        "feed": "/feeds/events.atom",
        "badge": "/subjects/library-0/badge.svg",
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


def _fill_bisect_form(of: Callable[[str], Any]) -> dict[str, str]:
    """Return the form of a bisect, filled in."""
    series = of("/api/v1/series?metric=minor-faults&limit=1")["items"][0]
    commits = [point["revision"] for point in of(f"/api/v1/series/{series['id']}")["points"]]
    names = {name: series[name] for name in ("subject", "case", "host", "metric")}
    return {**names, "good": commits[0], "bad": commits[-1]}


def _time_page(service: Service, connection: HTTPConnection, path: str) -> Timing:
    took, size = [], 0
    cpu = 0.0
    for number in range(REQUESTS + 1):
        if number == 1:
            cpu = service.cpu_seconds()
        started_at = time.perf_counter()
        size = len(fetch_page(connection, path))
        took.append(1000 * (time.perf_counter() - started_at))
    spent = 1000 * (service.cpu_seconds() - cpu) / REQUESTS
    p95 = sorted(took[1:])[int(0.95 * REQUESTS)]
    return Timing(took[0], p95, spent, _time_revalidation(connection, path), size, _count_bytes(connection, path))


def _count_bytes(connection: HTTPConnection, path: str) -> int:
    """Return how many bytes a browser gets."""
    connection.request("GET", path, headers={"Accept-Encoding": "gzip, deflate, br"})
    return len(connection.getresponse().read())


def _time_revalidation(connection: HTTPConnection, path: str) -> float:
    """Return how long a client with a cached page waits for the answer that nothing has changed."""
    tag, took = "", list[float]()
    for _ in range(REQUESTS // 4):
        started_at = time.perf_counter()
        connection.request("GET", path, headers={"If-None-Match": tag} if tag else {})
        answer = connection.getresponse()
        answer.read()
        took.append(1000 * (time.perf_counter() - started_at))
        tag = answer.headers.get("ETag", "")
    return statistics.median(took[1:])


def _time_first_paint(browser: Browser, address: str) -> float:
    """Return the time to the first paint for a reader without a cache."""
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
