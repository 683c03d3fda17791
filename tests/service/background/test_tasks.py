"""The background tasks of an application: what wakes them, and in how many processes they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from runner.contract.job import Backend, Job, JobOrder
from service.background import tasks
from service.background.scheduler import BackgroundScheduler, Task
from service.config.settings import Config
from service.errors import ServiceError
from service.jobs.extension import find_scheduler
from service.pipeline import ingest_reports
from service.serving import THREADS
from service.store.engine.connection_parameters import CONNECTIONS
from service.store.engine.database import Database
from service.store.series import series
from tests.service import reports
from tests.service.forges import conftest as on_forges
from tests.service.forges import test_webhooks_of_forges as webhooks
from tests.service.jobs_api import Jobs

both = on_forges.both
PATIENCE = 30
StartTasks = Callable[[Flask], None]


@pytest.fixture
def config(config: Config) -> Config:
    """Settings of a service that starts no jobs by itself."""
    return config.copy_with_values(jobs_here=False)


@pytest.fixture
def start(database: Database, config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartTasks]:
    """Start the tasks of an application; after their first run only a wake-up makes them run."""
    started: list[BackgroundScheduler] = []

    def task(*arguments: Any, **named: Any) -> Task:
        return Task(*arguments, **named | {"interval": 3600})

    monkeypatch.setattr(tasks, "Task", task)

    def begin(app: Flask) -> None:
        started.append(tasks.start(app, database, config, "http://127.0.0.1:1"))
        assert_idle(started[-1])

    yield begin
    assert started[0].stop(PATIENCE)


def assert_idle(scheduler: BackgroundScheduler) -> None:
    """Wait until each task has run."""
    deadline = time.monotonic() + PATIENCE
    while any(entry.running or entry.due < time.monotonic() for entry in scheduler._states.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Starter:
    """Starts nothing, and remembers what it was to start."""

    def __init__(self) -> None:
        self.started: Queue[int] = Queue()

    def explain_objection(self, _: JobOrder) -> str:
        return ""

    def start(self, job: Job) -> str:
        self.started.put(job.id)
        return ""

    def has_room(self) -> bool:
        return True

    def is_waiting(self, _: int) -> bool:
        return True


def test_a_job_is_started_as_soon_as_it_is_ordered(app: Flask, client: FlaskClient, start: StartTasks) -> None:
    starter = Starter()
    find_scheduler(app).starters[Backend.LOCAL] = starter
    start(app)
    job = Jobs(client).order()
    assert starter.started.get(timeout=PATIENCE) == job["id"]


def test_a_webhook_is_acted_on_as_soon_as_it_arrives(both: tuple[on_forges.Site, Any], start: StartTasks) -> None:
    site, forge = both
    start(site.client.application)
    assert webhooks.opened(site) == 202
    assert webhooks.command(site, "/faultwatch help") == 202
    deadline = time.monotonic() + PATIENCE
    while not webhooks.replies(forge):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_acts_on_everything_runs_in_one_process_at_a_time(app: Flask, database: Database, config: Config) -> None:
    entries = {task.name: task for task in tasks.list_tasks(app, database, config)}
    assert {name for name, task in entries.items() if task.exclusive} == {"events", "bisects", "profiles", "upkeep"}
    assert set(entries) == {"events", "bisects", "profiles", "upkeep", "jobs", "templates"}, "no forge is named"


def test_a_process_has_a_connection_for_all_that_it_does_at_once(
    both: tuple[on_forges.Site, Any], database: Database, config: Config
) -> None:
    site, _ = both
    entries = tasks.list_tasks(site.client.application, database, config)
    assert "forges" in {task.name for task in entries}
    deferred = 1
    assert THREADS + deferred + sum(2 if task.exclusive else 1 for task in entries) <= CONNECTIONS


def test_a_mistake_in_the_notifications_is_an_error_of_their_task(
    app: Flask, database: Database, config: Config
) -> None:
    (config.home / "notifications.toml").write_text("[[channel]]\nname = 1\n")
    (events,) = (task for task in tasks.list_tasks(app, database, config) if task.name == "events")
    with pytest.raises(ServiceError, match="notifications"):
        events.work()


def test_what_another_process_stored_and_did_not_judge_is_judged(
    app: Flask, database: Database, config: Config
) -> None:
    ingest_reports.ingest_reports(database, [reports.report(number, 100 + number) for number in (1, 2)])
    with database.reading() as session:
        assert series.map_stale_series(session)
    (events,) = (task for task in tasks.list_tasks(app, database, config) if task.name == "events")
    events.work()
    with database.reading() as session:
        assert not series.map_stale_series(session)
