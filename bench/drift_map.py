"""How large the drift map is and how long it takes, of 1,000 cases at 5,000 commits.

``python -m bench.drift_map [DRIFTS]``: stores a subject with this many drifts, of which one in ten is a change of the
kernel that moves every tenth case, and asks an application for the picture, the page and the first page: at first,
when nothing of it is known, and again.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from sqlalchemy.orm import Session

from bench.report import finish_report
from runner.contract import Outcome
from service.app import create_app
from service.config.settings import Config
from service.schemas.history import Cause
from service.schemas.triage import EventDirection, State
from service.store.models import Case, Environment, Event, EventDriftRow, Host, Revision, Run, Series, Subject
from service.web import app_resources

CASES, COMMITS, WORKLOADS, DRIFTS = 1_000, 5_000, 25, 10_000
MAX_BYTES, MAX_MILLISECONDS = 60_000, 100.0
REPEATS = 5
START = datetime(2021, 3, 1, 9, tzinfo=UTC)
_ROWS_PER_FLUSH = 2_000


def main(drifts: int = DRIFTS) -> None:
    """Fill, ask, and compare with the limits."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        app = create_app(Config(database_url=f"sqlite:///{Path(folder, 'map.db')}"))
        with app.app_context():
            database = app_resources.get_database()
        with database.writing(["big"]) as session:
            _store_subject(session, drifts)
        gc.freeze()  # as each process of the service does
        gc.set_threshold(100_000, 20, 100)
        client, misses, figures = app.test_client(), list[str](), dict[str, object]()
        for address in ("/map.svg", "/map", "/subjects/big"):
            times = []
            for _ in range(REPEATS):
                with database.writing(["big"]) as session:
                    session.get_one(Subject, 1).events_version += 1  # what was drawn before is out of date
                started_at = time.perf_counter()
                answer = client.get(address)
                times.append(1000 * (time.perf_counter() - started_at))
                assert answer.status_code == 200, answer.text
            started_at = time.perf_counter()
            client.get(address)
            again, first = 1000 * (time.perf_counter() - started_at), statistics.median(times)
            print(f"{address:16} {len(answer.data):7,} bytes  {first:6.1f} ms at first  {again:6.1f} ms again")
            figures[address] = {"bytes": len(answer.data), "first": round(first, 1), "again": round(again, 1)}
            if len(answer.data) > MAX_BYTES:
                misses.append(f"{address} has {len(answer.data):,} bytes")
            if first > MAX_MILLISECONDS:
                misses.append(f"{address} takes {first:.0f} ms")
    finish_report("drift-map", misses, {"cases": CASES, "commits": COMMITS, "drifts": drifts, **figures})


def _store_subject(session: Session, drifts: int) -> None:
    """Store the subject as a service has it that judged all of its runs."""
    random = Random(5)
    session.add_all([Subject(id=1, name="big"), Host(id=1, name="lab-1")])
    session.add(Environment(id=1, hash="0" * 16, settings={}))
    session.flush()
    session.add_all(
        Case(id=n, key=f"{n:016x}", workload=f"workload_{n % WORKLOADS}", definition="0" * 16, parameters={"size": n},
             name=f"workload_{n % WORKLOADS}[size={n}]")
        for n in range(1, CASES + 1)
    )  # fmt: skip
    session.flush()
    session.add_all(
        Series(id=n, subject_id=1, host_id=1, case_id=n, metric="minor-faults", judged=True)
        for n in range(1, CASES + 1)
    )
    for n in range(1, COMMITS + 1):
        at = START + timedelta(hours=8 * n)
        session.add(
            Revision(id=n, subject_id=1, commit=f"{n:040x}", parents=[], author="Ada", committed_at=at,
                     title=f"Change {n}", position=n)
        )  # fmt: skip
        session.flush()
        session.add(
            Run(id=uuid.UUID(int=n), subject_id=1, revision_id=n, case_id=1, host_id=1, environment_id=1,
                outcome=Outcome.MEASURED, started_at=at, finished_at=at)
        )  # fmt: skip
    session.flush()
    kernel = COMMITS // 2
    for n in range(drifts):
        commit = kernel if n % 10 == 0 else random.randrange(2, COMMITS)
        _add_drift(session, n, commit, random, config=commit == kernel)
        if n % _ROWS_PER_FLUSH == 0:
            session.flush()


def _add_drift(session: Session, number: int, commit: int, random: Random, *, config: bool) -> None:
    at, name = START + timedelta(hours=8 * commit), f"{commit:016x}"
    before, worse = random.randrange(100, 10**6), random.random() < 0.6
    percent = 10 ** random.uniform(-2, 2.5)
    if session.get(Event, name) is None:
        settings = [{"name": "kernel.release", "before": "5.15", "after": "6.1"}] if config else []
        title = f"Change {commit}"
        session.add(
            Event(id=name, subject_id=1, number=commit, cause=Cause.CONFIG if config else Cause.COMMIT,
                  state=State.NEW, still_detected=True, confirmed=True, committed_at=at, position=commit,
                  first_seen_at=at, changed_at=at, found_at=at, direction=EventDirection.REGRESSION,
                  importance=random.uniform(0, 500),
                  document={"headline": f"+4,096 minor faults ({percent:+.1f} %) in workload_{number % WORKLOADS}",
                            "blamed": title, "author": "Ada", "n_series": 1, "settings": settings})
        )  # fmt: skip
        session.flush()
    after = round(before * (1 + percent / 100)) if worse else round(before / (1 + percent / 100))
    session.add(
        EventDriftRow(drift_id=f"{number:016x}", event_id=name, subject_id=1, series_id=1 + number % CASES,
                      cause=Cause.CONFIG if config else Cause.COMMIT, detail="", first_revision_id=commit,
                      last_revision_id=commit, since=at, until=at, before=before, after=after, spread=0,
                      worse=worse, revision=f"{commit:040x}", rule="exact", run_after=None,
                      unsure=random.random() < 0.1, returned=False, still_detected=True, found_at=at)
    )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
