"""The background tasks of the service: each is an entry of :func:`list_tasks`."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Flask

from service.background.scheduler import BackgroundScheduler, Task
from service.config.settings import Config
from service.forges import extension as forges
from service.jobs import extension as jobs
from service.jobs.drift_bisecting import DriftBisector
from service.jobs.drift_profiling import DriftProfiler
from service.notify import notification_round
from service.pipeline import accept_merged, detect_suite_shifts, judging_schedule
from service.store.engine import statistics
from service.store.engine.database import Database
from service.web.rendering import templates

_EVENTS = "events"
_FORGES = "forges"
_JOBS = "jobs"
_BISECTS = "bisects"
_PROFILES = "profiles"
_UPKEEP = "upkeep"
_TEMPLATES = "templates"
_SECONDS_PER_DAY = 86_400
"""The interval of a task that has no more work after its first run."""


def start(app: Flask, database: Database, config: Config, url: str) -> BackgroundScheduler:
    """Start the background tasks of an application.

    Parameters
    ----------
    app
        The application.
    database
        The database of the application.
    config
        The settings of the application.
    url
        The address at which runners on this machine reach the service.
    """
    scheduler = BackgroundScheduler(database, list_tasks(app, database, config))
    jobs.start_jobs(app, url, lambda: scheduler.wake(_JOBS, _BISECTS, _PROFILES))
    worker = forges.find_worker(app)
    if worker is not None:
        worker.wake = lambda: scheduler.wake(_FORGES)
    scheduler.start()
    return scheduler


def list_tasks(app: Flask, database: Database, config: Config) -> list[Task]:
    """Return the tasks of an application.

    The tasks of jobs and forges are not exclusive: processes differ in the jobs that they can start and in the forges
    that they know, and each row of work is leased to the process that takes it.
    """
    scheduler = jobs.find_scheduler(app)
    worker = forges.find_worker(app)
    entries = [
        Task(_EVENTS, lambda: _settle_events(database, config), interval=10, exclusive=True, delay=10),
        Task(_JOBS, scheduler.work, interval=5),
        Task(_BISECTS, DriftBisector(scheduler, config.narrowing_runs, config.idle).work, interval=5, exclusive=True),
        Task(_PROFILES, DriftProfiler(scheduler, config.idle).order_profiles, interval=5, exclusive=True),
        Task(_UPKEEP, lambda: maintain_database(database), interval=600, exclusive=True, delay=60),
        Task(_TEMPLATES, lambda: templates.compile_templates(app), interval=_SECONDS_PER_DAY, delay=60),
    ]
    if worker is not None:
        entries.append(Task(_FORGES, worker.work, interval=60))
    return entries


def maintain_database(database: Database) -> None:
    """Refresh the statistics of tables that have grown."""
    statistics.analyse_due_tables(database)


def _settle_events(database: Database, config: Config) -> None:
    """Judge stale series, detect suite shifts, mark the drifts of accepted merges as expected, and send notifications.

    A single task does all of this in this order, because a message must list neither the individual drifts of a suite
    shift nor accepted drifts. Series are stale here if another process did not finish judging them.
    """
    judging_schedule.judge_or_defer_series(database)
    detect_suite_shifts.detect_shifts(database)
    accept_merged.expect_accepted_drifts(database, datetime.now(UTC))
    notification_round.send_due_notifications(database, config)
