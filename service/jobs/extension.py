"""The job scheduler of a Flask application, and the thread in which it works."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from runner.contract.job import Backend
from service.config.settings import Config
from service.jobs.profiling import Profiling
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database

if TYPE_CHECKING:
    from service.jobs.local import LocalStarter

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two rounds of the scheduler, unless something wakes it earlier."""
_EXTENSION = "faultwatch.jobs"


@dataclass(frozen=True, slots=True)
class _State:
    scheduler: JobScheduler
    local: LocalStarter | None


def register(app: Flask, data: Database, config: Config) -> JobScheduler:
    """Give an application its scheduler, which starts jobs on this machine where the settings allow that."""
    scheduler = JobScheduler(data, lease=config.lease)
    local = None
    if config.starts_jobs:
        from service.jobs.local import LocalStarter  # noqa: PLC0415 - Huey, which other services need not load

        local = LocalStarter(config.home, data, config.by_token, scheduler.ended)
        scheduler.starters[Backend.LOCAL] = local
    app.extensions[_EXTENSION] = _State(scheduler, local)
    return scheduler


def scheduler(app: Flask | None = None) -> JobScheduler:
    """Return the scheduler of an application, by default of the one that serves this request."""
    return _state(app).scheduler


def log_file(job_id: int) -> Path | None:
    """Return the log of a job that ran on this machine; None where there is none."""
    local = _state().local
    return local.log(job_id) if local and local.log(job_id).exists() else None


def start(app: Flask, url: str) -> None:
    """Start the scheduler in threads that end with the process; runners reach the service at this address."""
    state = _state(app)
    bell = threading.Event()
    state.scheduler.bell, state.scheduler.awake_since = bell.set, datetime.now(UTC)
    if state.local is not None:
        state.local.consume(url)

    profiling = Profiling(state.scheduler)

    def work() -> None:
        while True:
            try:
                state.scheduler.work()
                profiling.look()
            except Exception:  # whatever it is, the next round comes
                log.exception("a round of the job scheduler crashed")
            bell.wait(EVERY)
            bell.clear()

    threading.Thread(target=work, daemon=True, name="jobs").start()


def _state(app: Flask | None = None) -> _State:
    return cast(_State, (app or current_app).extensions[_EXTENSION])
