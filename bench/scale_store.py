"""A hundred million samples in PostgreSQL: how long they take to load, what they take on disk, and how fast pages are.

A tenth or a hundredth is stored through the service with SQLite. It is copied into further cases, as SQL, and the file
is restored into PostgreSQL, as who outgrows SQLite does.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import psycopg

from bench import store_ingest, store_queries
from bench.report import show_progress, show_steps
from bench.store_data import Size
from bench.store_service import UNSETTLED, Service, fetch_page, query_number
from runner.contract import Case
from service.store.engine.database import Database
from service.store.engine.table_partitions import RUNS_PER_PARTITION
from service.store.engine.upgrade import upgrade_database
from service.store.maintenance.backup import restore_database
from service.store.runs.packed_levels import rebuild_all_levels
from service.store.shared_rows import make_case_key
from tests.service import postgres

LONG, WIDE = Size(10, 1000), Size(1000, 16)
"""A million samples or little more, with as many commits as the large store, or with as many cases: the matrix reads 16
nightly runs of each."""
_OF_CASES = frozenset(
    {
        *("compare two revisions", "all of two revisions", "the next page of all"),
        *("page: overview", "page: matrix", "page: judged series", "page: compare, sorted"),
        *("page: workloads", "page: case", "page: hosts", "page: host", "page: environments", "page: environment"),
        *("page: events", "page: event", "page: drift", "page: compare", "list of series", "list of drifts"),
        *("list of events", "series of a metric"),
    }
)
"""Questions whose answers are as long in the wide store; those of all others are as long in the long one."""
_COMMON = 495
"""The first commit that all stores have. Steps are five commits later."""
LARGE = Size(100, 1000)
"""What is stored through the service, and copied."""
TENTHS = 10
_WORKERS = 2
_BLOCK = 1000
"""Runs in succession that are of the same copy: of ten commits."""


def compare_stores(copies: int) -> dict[str, Any]:
    """Load a store of this many times ten million samples, and one of a million; send both the same queries.

    Returns
    -------
    dict
        The figures: samples, seconds to draw and to load, bytes a sample, and by question the milliseconds within
        which 95 % of the answers are there, of a small store and of the large one.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="faultwatch-bench-")))
        server = stack.enter_context(postgres.running())
        started_at = time.monotonic()
        large = draw_large(folder, copies)
        drawn = time.monotonic()
        services = {}
        sizes = {}
        small = {
            "long": _draw_store(folder / "drawn-long", LONG),
            "wide": _draw_store(folder / "drawn-wide", WIDE, _COMMON),
        }
        for name, file in {"large": large, **small}.items():
            url = server.url(server.create())
            started = time.monotonic()
            load_file(file, url)
            pack_levels(url)
            sizes[name] = time.monotonic() - started, _measure_bytes(url)
            file.unlink()
            services[name] = Service(folder / name, _WORKERS, url)
            stack.callback(services[name].stop)
            wait_until_judged(url)
        told = {}
        for name in small:
            of_kind = partial(_list_questions, of_cases=name == "wide")
            told |= store_queries.measure_p95(services[name], services["large"], of_kind)
    samples = LARGE.samples * copies
    seconds, size = sizes["large"]
    return {
        "samples": samples,
        "seconds to draw": round(drawn - started_at),
        "seconds to load": round(seconds),
        "bytes a sample": round(size / samples, 1),
        "p95 in ms, of a million and of all": {
            name: [round(least, 1), round(spent, 1)] for name, (least, spent) in told.items()
        },
    }


def draw_large(folder: Path, copies: int) -> Path:
    """Return a SQLite file of this many times ten million samples, the tenths of them in their own parts."""
    return _multiply_store(_draw_store(folder / "part", LARGE), folder / "large.db", copies)


def _list_questions(service: Service, of_cases: bool) -> dict[str, list[str]]:
    """Return the queries by name: those whose cost grows with the number of cases, or all others."""
    asked = store_queries.list_queries(service, _COMMON) | _list_pages(service)
    return {name: paths for name, paths in asked.items() if (name in _OF_CASES) == of_cases}


def _list_pages(service: Service) -> dict[str, list[str]]:
    """Return the pages that people open, by name."""
    with closing(service.connect()) as connection:

        def fetch_json(path: str) -> Any:
            return json.loads(fetch_page(connection, path))

        run = fetch_json("/api/v1/runs?limit=1")["items"][0]
        case = quote("made-up[number=7]")
        series = fetch_json(f"/api/v1/series?case={case}")["items"]
        drifts, events = fetch_json("/api/v1/drifts?limit=20")["items"], fetch_json("/events.json?state=all")["items"]
        pairs = store_queries.list_compared_sides(_COMMON)
        key = next(entry["key"] for entry in fetch_json("/workloads.json") if entry["name"] == "made-up[number=7]")
    return {
        "page: overview": ["/"],
        "page: matrix": ["/matrix"],
        "page: judged series": ["/series"],
        "page: compare": [f"/compare?{pair}" for pair in pairs],
        "page: compare, sorted": [f"/compare?{pairs[0]}&sort={order}" for order in ("case", "metric")],
        "page: series": [f"/series/{entry['id']}" for entry in series],
        "page: run": [f"/runs/{run['run_id']}"],
        "page: runs": ["/runs"],
        "page: events": ["/events"],
        "page: event": [f"/events/{entry['id']}" for entry in events[:20]],
        "page: drift": [f"/drifts/{entry['id']}" for entry in drifts],
        "page: workloads": ["/workloads"],
        "page: case": [f"/cases/{key}"],
        "page: hosts": ["/hosts"],
        "page: host": [f"/hosts/{run['host']}"],
        "page: environments": ["/environments"],
        "page: environment": [f"/environments/{run['environment']}"],
        "page: search": ["/search?q=number"],
        "page: subjects": ["/subjects"],
        "page: settings": ["/settings"],
    }


def _draw_store(home: Path, size: Size, first_commit: int = 0) -> Path:
    """Store runs through a service with SQLite; return its file."""
    service = Service(home, _WORKERS)
    store_ingest.ingest_runs(service, size, show_progress, first_commit)
    service.stop()
    return service.database


def load_file(file: Path, url: str) -> None:
    """Restore a file into PostgreSQL."""
    database = Database(url)
    restore_database(database, file, progress=lambda done, total: show_progress(f"{done:,} of {total:,} rows loaded"))
    database.close()


def pack_levels(url: str) -> None:
    """Pack the levels of all runs, as the service does when it stores them."""
    database = Database(url)
    rebuild_all_levels(database, lambda done, total: show_progress(f"the levels of {done:,} of {total:,} runs packed"))
    database.close()


def _measure_bytes(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        return query_number(connection, "SELECT pg_database_size(current_database())")


def wait_until_judged(url: str) -> None:
    """Wait until every series is judged, and all events are made."""
    with psycopg.connect(url, autocommit=True) as connection:
        while left := query_number(connection, UNSETTLED):
            show_progress(f"{left:,} series and subjects wait for their drifts and events")
            time.sleep(1)


def _multiply_store(file: Path, new: Path, copies: int) -> Path:
    """Write a store with this many times the cases, each with the runs of one of the file."""
    database = Database(f"sqlite:///{new}")
    upgrade_database(database)
    database.close()
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -500000"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("ATTACH ? AS part", (str(file),))
        series, cases = (
            connection.execute(f"SELECT max(id) FROM part.{table}").fetchone()[0] for table in ("series", "case_")
        )
        for table in ("subject", "revision", "host", "environment"):
            connection.execute(f"INSERT INTO {table} SELECT * FROM part.{table}")
        connection.execute(
            f"INSERT INTO environment_count SELECT id, environment_id, host_id, subject_id, runs * {copies} "
            "FROM part.environment_count"
        )
        for copy in show_steps(range(copies), "copies drawn"):
            connection.executemany(
                "INSERT INTO case_ (id, key, workload, definition, parameters, name) VALUES (?, ?, ?, ?, ?, ?)",
                _copy_cases(connection, copy, cases),
            )
            for table, changed in _list_changes(copy, copies, series, cases).items():
                _copy_table(connection, table, changed)
    file.unlink()
    return new


def _copy_cases(connection: sqlite3.Connection, copy: int, cases: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the cases of a copy, whose numbers follow those of the copies before it."""
    rows = connection.execute("SELECT id, workload, definition, parameters FROM part.case_").fetchall()
    for row_id, workload, definition, parameters in rows:
        number = json.loads(parameters)["number"] + copy * cases
        case = Case(workload=workload, definition=definition, parameters={"number": number})
        parameters_json = json.dumps({"number": number})
        yield (
            row_id + copy * cases,
            make_case_key(case),
            workload,
            definition,
            parameters_json,
            f"{workload}[number={number}]",
        )


def _list_changes(copy: int, copies: int, series: int, cases: int) -> dict[str, dict[str, str]]:
    """Return how the columns of a copy differ, by table and column, as SQL."""
    tenth = LARGE.runs // TENTHS

    def new(number: str) -> str:
        place = f"({number} - 1) % {tenth} / {_BLOCK} * {_BLOCK * copies} + ({number} - 1) % {_BLOCK}"
        return f"({number} - 1) / {tenth} * {RUNS_PER_PARTITION} + {copy * _BLOCK} + {place} + 1"

    case = {"case_id": f"case_id + {copy * cases}"}
    return {
        "series": {"id": f"id + {copy * series}", **case, "judged_version": "version - judged"},
        "run_count": {"id": f"id + {copy * cases}", **case},
        # The packed levels name the series: see index().
        "run": {"number": new("number"), "id": "lower(hex(randomblob(16)))", "levels": "NULL", **case},
        "report": {"run_number": new("run_number")},
        "point": {"series_id": f"series_id + {copy * series}", "run_number": new("run_number")},
    }


def _copy_table(connection: sqlite3.Connection, table: str, changed: dict[str, str]) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changed.get(column, f'"{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM part.{table}")
