"""How long the service takes to answer, against one that holds a hundredth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from itertools import cycle, islice, pairwise
from urllib.parse import quote

from bench.store_data import METRICS, SUBJECT, make_revision, run_id
from bench.store_service import Service, fetch_page

REPEATS = 60
LONGER = frozenset({"compare two revisions", "all of two revisions", "the next page of all"})
"""Questions to which a larger store has longer answers."""
PAIRS = 12
"""Neighbouring commits that are compared in turns: too many for all answers to be kept."""


def list_queries(service: Service, first_commit: int = 0) -> dict[str, list[str]]:
    """Return the queries that are timed on a large and on a small store, by name."""
    case = quote("made-up[number=0]")
    with closing(service.connect()) as connection:
        listed = json.loads(fetch_page(connection, f"/api/v1/series?case={case}"))["items"]
    ids = {entry["metric"]: entry["id"] for entry in listed}
    exact, noisy = [ids[name] for name in METRICS[:2]], [ids[name] for name in METRICS[2:]]
    runs = [run_id(0, first_commit + number) for number in (0, 1)]
    pairs = list_compared_sides(first_commit)
    return {
        # Another series each time: nobody looks at one alone, and one that was just looked at is told sooner.
        "chart of an exact series": [f"/api/v1/series/{number}" for number in exact],
        "chart of a noisy series": [f"/api/v1/series/{number}" for number in noisy],
        "chart, thinned": [f"/api/v1/series/{number}?points=500" for number in noisy],
        "page of a series": [f"/series/{number}" for number in noisy],
        "list of series": ["/api/v1/series?limit=20"],
        "series of a case": [f"/api/v1/series?case={case}&limit=20"],
        "series of a metric": ["/api/v1/series?metric=elapsed&limit=20"],
        "list of drifts": ["/api/v1/drifts?limit=5"],
        "list of events": ["/api/v1/events?limit=5"],
        "list of runs": ["/api/v1/runs?limit=20"],
        "runs of a case": [f"/api/v1/runs?case={case}&limit=20"],
        "runs of a subject": [f"/api/v1/runs?subject={SUBJECT}&limit=20"],
        "runs of a case of a subject": [f"/api/v1/runs?subject={SUBJECT}&case={case}&limit=20"],
        "runs of a host": ["/api/v1/runs?host=host&limit=20"],
        "runs that failed": ["/api/v1/runs?outcome=failed&limit=20"],
        "runs in quarantine": ["/api/v1/runs?host=host&quarantined=true&limit=20"],
        "compare two runs": [f"/compare.json?base={runs[0]}&head={runs[1]}"],
        # Others each time as well: what was just compared is kept for its other pages.
        "compare two revisions": [f"/compare.json?{pair}" for pair in pairs],
        "figures of the service": ["/metrics"],
        "all of two revisions": [f"/compare.json?{pair}&metric=all" for pair in pairs],
        "the next page of all": [f"/compare.json?{pairs[0]}&metric=all&offset={offset}" for offset in (100, 200)],
    }


def list_compared_sides(first_commit: int) -> list[str]:
    """Return the sides of comparisons of neighbouring commits, as queries."""
    commits = [make_revision(first_commit + 2 + number).commit for number in range(PAIRS + 1)]
    return [f"base={base}&head={head}" for base, head in pairwise(commits)]


def measure_p95(
    small: Service, large: Service, questions: Callable[[Service], dict[str, list[str]]] = list_queries
) -> dict[str, tuple[float, float]]:
    """Return the 95th percentiles of both stores' response times in ms, by query; the queries are interleaved."""
    asked = questions(small), questions(large)
    with closing(small.connect()) as one, closing(large.connect()) as other:
        found = {}
        for name in asked[0]:
            turns = islice(cycle(zip(asked[0][name], asked[1][name], strict=False)), REPEATS)
            spent = [(_time_query(one, few), _time_query(other, many)) for few, many in turns]
            found[name] = _compute_p95([times[0] for times in spent]), _compute_p95([times[1] for times in spent])
    return found


def _time_query(connection: HTTPConnection, path: str) -> float:
    start = time.perf_counter()
    fetch_page(connection, path)
    return 1000 * (time.perf_counter() - start)


def _compute_p95(found: list[float]) -> float:
    return sorted(found)[int(0.95 * (len(found) - 1))]
