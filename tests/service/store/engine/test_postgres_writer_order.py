"""Who writes beside whom on PostgreSQL, and that nobody waits for ever."""

from __future__ import annotations

import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from runner.contract.report import Case, Environment, Host, Report
from service.pipeline import ingest_reports
from service.store.engine.database import Database
from service.store.models import Run
from tests.service import reports

PATIENCE = 30
WRITERS, ROUNDS, SHARED = 4, 4, 100

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


def waits(database: Database, holder: tuple[str, ...], writer: tuple[str, ...]) -> bool:
    """Return whether a writer waits until another one has ended."""
    begun = threading.Event()

    def write() -> None:
        with database.writing(writer):
            begun.set()

    with database.writing(holder):
        thread = threading.Thread(target=write)
        thread.start()
        at_once = begun.wait(0.5)
    assert begun.wait(PATIENCE)
    thread.join()
    return not at_once


@pytest.mark.parametrize(
    ("holder", "writer", "expected"),
    [
        (("lua",), ("zlib",), False),
        (("lua",), ("lua",), True),
        (("lua", "zlib"), ("snappy", "zlib"), True),
        (("lua",), (), True),
        ((), ("lua",), True),
        ((), (), True),
    ],
)
def test_only_writers_of_different_subjects_work_side_by_side(
    database: Database, holder: tuple[str, ...], writer: tuple[str, ...], expected: bool
) -> None:
    assert waits(database, holder, writer) is expected


def test_writers_that_add_the_same_hosts_cases_and_environments_never_wait_for_each_other(database: Database) -> None:
    start = threading.Barrier(WRITERS)

    def ingest(writer: int) -> None:
        for turn in range(ROUNDS):
            batch = shuffled_reports(writer, turn)
            start.wait(PATIENCE)
            ingest_reports.ingest_reports(database, batch)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(ingest, range(WRITERS)))
    with database.reading() as session:
        assert session.query(Run).count() == WRITERS * ROUNDS * SHARED


def shuffled_reports(writer: int, turn: int) -> list[Report]:
    """Return reports of a writer's own subject about what all writers share, in its own order."""
    order = random.Random(f"{writer} {turn}")
    names = [f"{turn}-{number}" for number in range(SHARED)]
    hosts, cases, environments = (order.sample(names, SHARED) for _ in range(3))
    return [
        reports.report(
            turn + 1,
            100,
            subject=f"subject-{writer}",
            host=Host(name=host),
            case=Case(workload=case, definition="1" * 16, parameters={}),
            environment=Environment(settings={"name": environment}),
        )
        for host, case, environment in zip(hosts, cases, environments, strict=True)
    ]


def test_of_two_subjects_that_use_one_run_id_at_once_the_second_is_refused(database: Database) -> None:
    run_id = uuid.uuid4()
    first = ingest_reports.prepare_reports([reports.report(1, 100, run_id=run_id, subject="lua")])
    with ThreadPoolExecutor(1) as pool:
        with database.writing(["lua"]) as session:
            ingest_reports.store_reports(session, first)
            second = pool.submit(
                ingest_reports.ingest_reports, database, [reports.report(1, 100, run_id=run_id, subject="z")]
            )
            time.sleep(0.5)  # it waits for the first one's row
        assert second.result(PATIENCE).conflicting_ids == (run_id,)
