"""A subject is deleted with all that is its own, and nothing of another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import func, select

from service.store.engine.database import Database
from service.store.maintenance.parquet_export import export_parquet
from service.store.maintenance.subject_deletion import count_stored_rows, delete_subject
from service.store.models import Base, Job, Subject
from tests.service import jobs_api, reports
from tests.service.apiclient import Api

EVERY_DATABASE = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def unchecked(database: Database) -> Iterator[Database]:
    """The database as who deletes opens it."""
    opened = Database(database.url.render_as_string(hide_password=False), checks_references=False)
    yield opened
    opened.close()


def counts(database: Database) -> dict[str, int]:
    """Return how many rows each table has."""
    with database.reading() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def fill(api: Api, subject: str) -> None:
    """Store two drifts with an event each, one of them acknowledged."""
    levels = [100] * 6 + [150] * 6 + [90] * 6
    api.send(*(reports.report(number, level, level, subject=subject) for number, level in enumerate(levels, 1)))
    entry = api.get("/events", subject=subject)["items"][0]
    decided = api.client.post(f"/api/v1/events/{entry['id']}/decisions", json={"action": "acknowledge", "reason": "x"})
    assert decided.status_code in {200, 201}, decided.text


@EVERY_DATABASE
def test_what_is_left_is_what_was_there_without_the_subject(api: Api, database: Database, unchecked: Database) -> None:
    fill(api, "other")
    api.client.get("/")  # draws sparklines
    before, pages = counts(database), [api.get("/series", subject="other"), api.get("/events", subject="other")]
    fill(api, "demo")
    api.client.get("/")
    told = count_stored_rows(database, "demo")
    assert told["run"] == told["report"] == told["point"] == 18
    assert told["event"] == told["drift"] == 2
    assert told["decision"] >= 1
    delete_subject(unchecked, "demo")
    after = counts(database)
    shared = {"case_", "host", "environment", "audit", "last_number", "loose_part"}
    assert {name: rows for name, rows in after.items() if name not in shared} == {
        name: rows for name, rows in before.items() if name not in shared
    }
    assert [api.get("/series", subject="other"), api.get("/events", subject="other")] == pages
    assert count_stored_rows(database, "demo") == {}
    assert api.client.get("/").status_code == 200
    delete_subject(unchecked, "demo")
    fill(api, "demo")
    assert api.get("/runs", subject="demo")["total"] == 18


@EVERY_DATABASE
def test_an_interrupted_deletion_goes_on(
    api: Api, database: Database, unchecked: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.store.maintenance.subject_deletion._RUNS_PER_TRANSACTION", 5)
    fill(api, "demo")

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delete_subject(unchecked, "demo", stop)
    assert api.client.get("/").status_code == 200
    delete_subject(unchecked, "demo")
    assert count_stored_rows(database, "demo") == {}


@EVERY_DATABASE
def test_no_job_is_left_of_a_subject_that_is_gone(
    api: Api, database: Database, unchecked: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = {"question": jobs_api.QUESTION, "author": "ann", "backend": "caller"}
    transactions = []

    def fail_after(database_writing: Callable[..., Any], n_transactions: int) -> Callable[..., Any]:
        def write(*arguments: Any) -> Any:
            transactions.append(arguments)
            if len(transactions) > n_transactions:
                raise KeyboardInterrupt
            return database_writing(*arguments)

        return write

    for n_transactions in range(99):  # interrupted before each transaction
        fill(api, "demo")
        assert api.client.post("/api/v1/jobs", json=order).status_code == 201
        transactions.clear()
        with monkeypatch.context() as patch:
            patch.setattr(unchecked, "writing", fail_after(unchecked.writing, n_transactions))
            with suppress(KeyboardInterrupt):
                delete_subject(unchecked, "demo")
        with database.reading() as session:
            n_jobs = session.scalar(select(func.count()).select_from(Job)) or 0
            n_subjects = session.scalar(select(func.count()).select_from(Subject)) or 0
        assert n_subjects or not n_jobs
        if len(transactions) <= n_transactions:
            break  # It was not interrupted.
        delete_subject(unchecked, "demo")
    assert n_transactions > 3
    assert count_stored_rows(database, "demo") == {}


def test_the_command_says_what_goes_and_asks(
    api: Api, database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from service.__main__ import cli

    monkeypatch.setenv("DATABASE_URL", database_url)
    fill(api, "demo")

    def run(*arguments: str, answer: str = "") -> str:
        done = CliRunner().invoke(cli, ["forget", *arguments], input=answer)
        assert done.exit_code == 0, done.output
        return done.output

    assert "18 runs" in (told := run("demo", "--dry-run"))
    assert "_" not in told, "a name of a table"
    assert "forgotten" not in run("demo", answer="n\n")
    assert api.get("/runs")["total"] == 18
    assert "demo was deleted" in run("demo", "--yes")
    assert api.get("/runs")["total"] == 0
    assert api.get("/audit")["items"][0]["action"] == "subject forgotten"
    unknown = CliRunner().invoke(cli, ["forget", "demo"])
    assert unknown.exit_code != 0
    assert "no such subject" in str(unknown.exception).lower() + unknown.output.lower()


@EVERY_DATABASE
def test_nobody_gets_the_numbers_of_what_is_forgotten(
    api: Api, database: Database, unchecked: Database, tmp_path: Path
) -> None:
    """Caches know series by their numbers, and exports know how far they are."""
    api.send(*(reports.report(number, 100, 100, subject="gone") for number in (1, 2, 3)))
    assert [point["value"] for point in api.series()["points"]] == [100] * 3
    assert export_parquet(database, tmp_path).runs == 3
    delete_subject(unchecked, "gone")
    assert export_parquet(database, tmp_path).runs == 0, "the folder is still one of this database"
    api.send(*(reports.report(number, 777, 777, subject="new") for number in (1, 2, 3)))
    assert [point["value"] for point in api.series()["points"]] == [777] * 3
    assert export_parquet(database, tmp_path).runs == 3
