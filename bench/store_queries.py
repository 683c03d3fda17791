"""How long the service takes to answer, against one that holds a hundredth."""

from __future__ import annotations

import json
import time
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import quote

from bench.store_data import METRICS, run_id
from bench.store_service import Service, get

REPEATS = 60


def queries(service: Service) -> dict[str, str]:
    """Return what is asked for, by name: the same of a large and of a small store."""
    case = quote("made-up[number=0]")
    with closing(service.connect()) as connection:
        listed = json.loads(get(connection, f"/api/v1/series?case={case}"))["items"]
    ids = {entry["metric"]: entry["id"] for entry in listed}
    return {
        "chart of an exact series": f"/api/v1/series/{ids[METRICS[0]]}",
        "chart of a noisy series": f"/api/v1/series/{ids[METRICS[2]]}",
        "page of a series": f"/series/{ids[METRICS[0]]}",
        "list of series": "/api/v1/series?limit=20",
        "series of a case": f"/api/v1/series?case={case}&limit=20",
        "list of drifts": "/api/v1/drifts?limit=5",
        "list of runs": "/api/v1/runs?limit=20",
        "runs of a case": f"/api/v1/runs?case={case}&limit=20",
        "runs that failed": "/api/v1/runs?outcome=failed&limit=20",
        "compare two runs": f"/compare.json?base={run_id(0, 0)}&head={run_id(0, 1)}",
    }


def p95(small: Service, large: Service) -> dict[str, tuple[float, float]]:
    """Return the milliseconds within which 95 % of the answers of both are there, by query: asked in turns."""
    asked = queries(small), queries(large)
    with closing(small.connect()) as one, closing(large.connect()) as other:
        found = {}
        for name in asked[0]:
            spent = [(_milliseconds(one, asked[0][name]), _milliseconds(other, asked[1][name])) for _ in range(REPEATS)]
            found[name] = _p95([times[0] for times in spent]), _p95([times[1] for times in spent])
    return found


def _milliseconds(connection: HTTPConnection, path: str) -> float:
    start = time.perf_counter()
    get(connection, path)
    return 1000 * (time.perf_counter() - start)


def _p95(found: list[float]) -> float:
    return sorted(found)[int(0.95 * (len(found) - 1))]
