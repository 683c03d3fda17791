"""Sets up the job scheduler of a Flask application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from flask import Flask, current_app

from runner.contract.job import Backend
from service.config.settings import Config
from service.jobs.local_starter import LocalStarter
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database

_EXTENSION = "faultwatch.jobs"


@dataclass(frozen=True, slots=True)
class _JobsExtension:
    """The scheduler of an application, and the starter of jobs on this machine; None if the settings forbid it."""

    scheduler: JobScheduler
    local: LocalStarter | None


def register(app: Flask, database: Database, config: Config) -> JobScheduler:
    """Add a scheduler to an application, and return it; it starts jobs on this machine if the settings allow this."""
    scheduler = JobScheduler(database, lease_time=config.lease)
    local = None
    if config.starts_jobs:
        local = LocalStarter(config.home, database, config.by_token, scheduler.record_ended_process, host=config.host)
        scheduler.starters[Backend.LOCAL] = local
    app.extensions[_EXTENSION] = _JobsExtension(scheduler, local)
    return scheduler


def find_scheduler(app: Flask | None = None) -> JobScheduler:
    """Return the scheduler of an application, by default that of the current one."""
    return _get_extension(app).scheduler


def find_log_file(job_id: int) -> Path | None:
    """Return the log file of a job that ran on this machine; None if there is none."""
    local = _get_extension().local
    if local is None:
        return None
    file = local.find_log_file(job_id)
    return file if file.exists() else None


def start_jobs(app: Flask, url: str, wake: Callable[[], None]) -> None:
    """Start carrying out jobs on this machine.

    Parameters
    ----------
    app
        The application.
    url
        The address at which runners on this machine reach the service.
    wake
        Wakes the thread that calls the scheduler.
    """
    extension = _get_extension(app)
    extension.scheduler.wake = wake
    extension.scheduler.awake_since = datetime.now(UTC)
    if extension.local is not None:
        extension.local.url = url


def _get_extension(app: Flask | None = None) -> _JobsExtension:
    """Return the extension of an application, by default that of the current one."""
    return cast(_JobsExtension, (app or current_app).extensions[_EXTENSION])
