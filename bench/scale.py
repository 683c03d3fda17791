"""The service at the size of an organisation: many series, several machines on one PostgreSQL.

    make bench-scale                                    a tenth of everything, on both databases
    make bench-scale-full                               all of it
    python -m bench.scale --full judging                one part, all of it

- ``judging``: a batch brings each of 100,000 series a new point, one in a hundred of them on another level. All are
  judged within three minutes, each drift is there once, and a service that is killed meanwhile goes on where it was.
- ``writers``: four services with their own homes, on one PostgreSQL, each take runs of another subject about the
  same hosts, cases and environments; then one service takes as many. None deadlocks, nothing is lost or doubled.
- ``kills``: two services, their workers and PostgreSQL are killed at random moments while runs are sent. What was
  acknowledged is there once, and each event is sent once: an attempt that was cut off is repeated with the same key.
- ``store``: a hundred million samples are loaded into PostgreSQL within twenty minutes and take 60 bytes each. 95 of
  100 times, questions are answered within 50 ms and pages within 100 ms, and in 1.3 times what they take of a million.
- ``load``: two hundred hosts send runs, as many as make a nightly run of 100,000 cells in an hour, while a hundred
  pages are open and a forge delivers 500 webhooks in ten seconds. Nothing is lost, and nobody is refused but for a
  moment; 95 of 100 pages open within a second, and each webhook is answered before a forge gives up.
- ``retention``: nine tenths of a hundred million samples are reduced while runs arrive and pages are opened. No
  request takes a second, the disk has the space back, and no drift is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg

from bench import scale_kill, scale_load, scale_retention, scale_store
from bench.report import finish_report, show_progress
from bench.scale_data import METRICS, Scale
from bench.store_service import Service, cpu_seconds, fetch_page, post_json, query_number
from tests.service import postgres

PARTS = ("judging", "writers", "kills", "store", "load", "retention")
MOST_SECONDS = 180.0
SUBJECTS = 4
LONGEST_REQUEST = 1.0
"""Seconds, while old runs are reduced."""
MOST_LEFT = 0.75
"""Of what the old parts took: levels, exact counts and their reports stay."""
MOST_OPENING_MS = 1000
"""Within which 95 of 100 pages open under load."""
MOST_WEBHOOK_MS = 10_000
"""After which GitHub and GitLab count a delivery as failed."""
MOST_LOADING = 1200.0
"""Seconds, of a hundred million samples."""
MOST_BYTES = 60.0
"""Of a sample."""
MOST_MS = {"page": 100.0, "question": 50.0}
MOST_GROWTH = 1.3
LEAST_GAIN = 1.8
"""If each service has a processor, and so have the database's sessions."""
_BATCH = 1000
_COMMITS = 20
_CASES = 100
"""Of each subject of the writers."""
_MOVED = 100
"""One case in this many takes a step."""
_KILLED_AT = 0.5
"""Which share is still to be judged when the service is killed."""


def main() -> None:
    """Run the parts asked for, and say what holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; without any, all of them")
    parser.add_argument("--full", action="store_true", help="everything, not a tenth of it")
    parser.add_argument("--databases", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"])
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    parts = asked.parts or PARTS
    figures: dict[str, object] = {}
    misses: list[str] = []
    if "judging" in parts:
        for database in asked.databases:
            figures[f"judging, {database}"] = _measure_judging(database, 25_000 if asked.full else 2_500, misses)
    if "writers" in parts:
        figures["writers"] = _measure_writers(600 if asked.full else 60, misses)
    if "kills" in parts:
        figures["kills"] = _measure_kills(300 if asked.full else 30, misses)
    if "store" in parts:
        figures["store"] = _measure_store(10 if asked.full else 1, misses)
    if "load" in parts:
        figures["load"] = _measure_load(120 if asked.full else 30, misses)
    if "retention" in parts:
        figures["retention"] = _measure_retention(10 if asked.full else 1, misses)
    finish_report("scale", misses, figures)


def _measure_judging(database: str, cases: int, misses: list[str]) -> dict[str, object]:
    data = Scale("bench", cases)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faultwatch-bench-")))
        url = None
        if database == "postgresql":
            server = stack.enter_context(postgres.running())
            url = server.url(server.create())
        service = Service(home, url=url)
        stack.callback(lambda: service.stop())  # noqa: PLW0108 - another service takes its place
        for commit in range(_COMMITS):
            _send_bodies(service, data.batches(commit, _BATCH))
            show_progress(f"{database}: {commit + 1} of {_COMMITS} commits stored")
        _wait_for_judging(service, 0)
        started_at = time.monotonic()
        _send_bodies(service, data.batches(_COMMITS, _BATCH, moved=_MOVED))
        stored = time.monotonic()
        # Judging begins when no more runs arrive. That wait counts.
        _wait_for_judging(service, data.series * _KILLED_AT)
        before = time.monotonic()
        service.kill()
        service = Service(home, url=url)
        left = _count_unjudged_series(service)
        restarted = time.monotonic()
        _wait_for_judging(service, 0)
        seconds = before - stored + time.monotonic() - restarted
        drifts = _count_steps(service)
    expected = len(range(0, cases, _MOVED))
    figures: dict[str, object] = {
        "series": data.series,
        "points of each": _COMMITS + 1,
        "seconds to store": round(stored - started_at, 1),
        "seconds to judge": round(seconds, 1),
        "series a second": round(data.series / seconds),
        "left after the kill": left,
        "drifts": drifts,
    }
    print(f"{database:12} {figures}")
    if seconds > MOST_SECONDS * data.series / 100_000:
        misses.append(f"{database}: {data.series:,} series took {seconds:.0f} s")
    if drifts != expected:
        misses.append(f"{database}: {drifts} drifts instead of {expected}")
    if left > data.series * _KILLED_AT:
        misses.append(f"{database}: after the kill {left:,} series were judged again")
    return figures


def _measure_writers(commits: int, misses: list[str]) -> dict[str, object]:
    """Store the runs of some subjects: with a service for each, then with a single service."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres.running())
        found: dict[int, tuple[float, float]] = {}
        lost: dict[int, int] = {}
        deadlocks = 0
        for machines in (SUBJECTS, 1):
            name = server.create()
            with ExitStack() as serving:
                services = [_start_machine(serving, server.url(name)) for _ in range(machines)]
                found[machines] = _store_all(services, commits, server.process)
                with psycopg.connect(server.url(name)) as connection:
                    stored = query_number(connection, "SELECT count(*) FROM point")
                    failed = query_number(
                        connection, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
                    )
            points = SUBJECTS * commits * _CASES * len(METRICS)
            lost[machines], deadlocks = points - stored, deadlocks + failed
    wall = found[1][0] / found[SUBJECTS][0]
    cpu = found[1][1] / found[SUBJECTS][1]
    figures: dict[str, object] = {
        "points": points,
        "seconds, one machine": round(found[1][0], 1),
        "seconds, four machines": round(found[SUBJECTS][0], 1),
        "gain by wall clock": round(wall, 2),
        "processor seconds, one machine": round(found[1][1], 1),
        "processor seconds, four machines": round(found[SUBJECTS][1], 1),
        "gain by processor time": round(cpu, 2),
        "lost or doubled": lost,
        "deadlocks": deadlocks,
    }
    print(f"writers      {figures}")
    if (os.cpu_count() or 1) >= 2 * SUBJECTS and wall < LEAST_GAIN:
        misses.append(f"four machines store only {wall:.2f} times as fast as one")
    if any(lost.values()):
        misses.append(f"points lost or doubled: {lost}")
    if deadlocks:
        misses.append(f"{deadlocks} deadlocks")
    return figures


def _measure_kills(kills: int, misses: list[str]) -> dict[str, object]:
    figures = scale_kill.kill_often(kills)
    print(f"kills        {figures}")
    failures = ("lost or doubled", "incomplete", "miscounted", "events never sent", "messages never received")
    misses += [f"{name}: {figures[name]}" for name in (*failures, "messages of no event") if figures[name]]
    return figures


def _measure_store(copies: int, misses: list[str]) -> dict[str, Any]:
    figures = scale_store.compare_stores(copies)
    asked = figures["p95 in ms, of a million and of all"]
    print(f"\n{'p95, milliseconds':32} {'a million':>10} {'all':>8} {'ratio':>6}\n{'-' * 64}")
    for name, (least, spent) in asked.items():
        print(f"{name:32} {least:>10.1f} {spent:>8.1f} {spent / least:>6.2f}")
        if spent > MOST_MS["page" if name.startswith("page") else "question"]:
            misses.append(f"{name}: p95 {spent} ms")
        if spent / least > MOST_GROWTH:
            misses.append(f"{name}: {spent / least:.2f} × what it takes in a small store")
    print(f"store        { {name: value for name, value in figures.items() if value is not asked} }")
    seconds = figures["seconds to draw"] + figures["seconds to load"]
    if seconds > MOST_LOADING:
        misses.append(f"drawn and loaded in {seconds} s")
    if figures["bytes a sample"] > MOST_BYTES:
        misses.append(f"{figures['bytes a sample']} bytes a sample")
    return figures


def _measure_load(seconds: int, misses: list[str]) -> dict[str, Any]:
    figures = scale_load.serve_busy_hour(seconds)
    print(f"load         {figures}")
    times = figures["milliseconds: half, 95 %, all"]
    misses += [
        f"{what}: {figures[what]}" for what in ("runs lost or doubled", "webhooks lost", "failed") if figures[what]
    ]
    if times["open a page"][1] > MOST_OPENING_MS:
        misses.append(f"pages open in {times['open a page'][1]} ms")
    if times["deliver a webhook"][2] > MOST_WEBHOOK_MS:
        misses.append(f"a webhook is answered after {times['deliver a webhook'][2]} ms")
    return figures


def _measure_retention(copies: int, misses: list[str]) -> dict[str, Any]:
    figures = scale_retention.measure_retention(copies)
    print(f"retention    {figures}")
    slowest, missing = figures["slowest requests"], figures["drifts missing"]
    before, after = (figures[f"MB of the old parts {when}"] for when in ("before", "after"))
    misses += [f"{what} took {seconds} s" for what, (seconds, _) in slowest.items() if seconds > LONGEST_REQUEST]
    if missing:
        misses.append(f"{missing} drifts are gone")
    if after > before * MOST_LEFT:
        misses.append(f"the old parts take {after} MB, and took {before}")
    return figures


def _start_machine(serving: ExitStack, url: str) -> Service:
    home = Path(serving.enter_context(tempfile.TemporaryDirectory(prefix="faultwatch-bench-")))
    service = Service(home, url=url)
    serving.callback(service.stop)
    return service


def _store_all(services: Sequence[Service], commits: int, server: int) -> tuple[float, float]:
    """Have the services store this many commits of each subject; return the wall clock and processor seconds."""

    def store_subject(number: int) -> None:
        data = Scale(f"subject-{number}", _CASES)
        for commit in range(commits):
            _send_bodies(services[number % len(services)], data.batches(commit, _CASES))

    def spent() -> float:
        return sum(service.cpu_seconds() for service in services) + cpu_seconds(server)

    cpu, started_at = spent(), time.monotonic()
    with ThreadPoolExecutor(SUBJECTS) as pool:
        for result in pool.map(store_subject, range(SUBJECTS)):
            assert result is None
    return time.monotonic() - started_at, spent() - cpu


def _send_bodies(service: Service, bodies: Iterable[bytes]) -> None:
    with closing(service.connect()) as connection:
        for body in bodies:
            post_json(connection, "/api/v1/runs", body)


def _wait_for_judging(service: Service, left: float) -> None:
    """Wait until at most this many series are to be judged."""
    while (now := _count_unjudged_series(service)) > left:
        show_progress(f"{now:,} series wait to be judged")
        time.sleep(0.2)


def _count_unjudged_series(service: Service) -> int:
    with closing(service.connect()) as connection:
        lines = fetch_page(connection, "/metrics").decode().splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("faultwatch_series_unjudged "))))


def _count_steps(service: Service) -> int:
    """Return how many drifts of exact counts there are."""
    with closing(service.connect()) as connection:
        return int(json.loads(fetch_page(connection, f"/api/v1/drifts?metric={METRICS[0]}&limit=1"))["total"])


if __name__ == "__main__":
    main()
