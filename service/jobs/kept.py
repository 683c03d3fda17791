"""The desk that an application keeps for its jobs, and the thread that works at it."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from runner.contract.job import Backend
from service.config import Config
from service.github.kept import queue
from service.jobs.desk import Desk, Starter
from service.jobs.profiling import Profiling
from service.store.database import Database

if TYPE_CHECKING:
    from service.jobs.local import LocalStarter

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two looks at the jobs, where nobody rings."""
_EXTENSION = "faultwatch.jobs"


@dataclass(frozen=True, slots=True)
class _Kept:
    desk: Desk
    local: LocalStarter | None


def keep(app: Flask, data: Database, config: Config) -> None:
    """Let an application see to jobs: those of GitHub where it is an App, and its own machine's where it may."""
    starters: dict[Backend, Starter] = {}
    local = None
    desk = Desk(data, starters, lease=config.lease)
    if (kept := queue(app)) is not None:
        from service.jobs.actions import ActionsStarter  # noqa: PLC0415 - only where there is an App

        actions = ActionsStarter(kept.desk.client, kept.desk.settings.address)
        starters[Backend.GITHUB] = desk.teller = actions
        kept.desk.jobs = desk
    if config.starts_jobs:
        from service.jobs.local import LocalStarter  # noqa: PLC0415

        starters[Backend.LOCAL] = local = LocalStarter(config.home, data, config.by_token, desk.ended)
    app.extensions[_EXTENSION] = _Kept(desk, local)


def desk(app: Flask | None = None) -> Desk:
    """Return the desk of the application that serves this request."""
    return _kept(app).desk


def log_file(job_id: int) -> Path | None:
    """Return the file of the log of a job that ran here, if there is one."""
    local = _kept().local
    return local.log(job_id) if local and local.log(job_id).exists() else None


def start(app: Flask, url: str) -> None:
    """Begin to work, in threads that end with the process; runners reach the service at this address."""
    kept = _kept(app)
    bell = threading.Event()
    kept.desk.bell, kept.desk.awake_since = bell.set, datetime.now(UTC)
    if kept.local is not None:
        kept.local.consume(url)

    profiling = Profiling(kept.desk)

    def work() -> None:
        while True:
            try:
                kept.desk.work()
                profiling.look()
            except Exception:  # whatever it is, the next look comes
                log.exception("looking after the jobs crashed")
            bell.wait(EVERY)
            bell.clear()

    threading.Thread(target=work, daemon=True, name="jobs").start()


def _kept(app: Flask | None = None) -> _Kept:
    return cast(_Kept, (app or current_app).extensions[_EXTENSION])
