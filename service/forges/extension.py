"""Gives a Flask application the worker that publishes on forges.

The clients of the forges are imported only if a forge is configured: their import takes a fifth of the start time of a
service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from service.config.settings import Config
from service.forges.registry import FORGES
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database

if TYPE_CHECKING:
    from service.forges.worker import ForgeWorker

_EXTENSION = "faultwatch.forges"


def register(app: Flask, data: Database, config: Config, scheduler: JobScheduler) -> None:
    """Give an application its worker if a forge is configured, and the scheduler the forges that can start jobs."""
    forges = {kind: FORGES[kind].connect(settings, scheduler) for kind, settings in config.forges.items()}
    if not forges:
        return
    from service.forges.worker import ForgeWorker  # noqa: PLC0415 - see above

    app.extensions[_EXTENSION] = ForgeWorker(data, forges, jobs=scheduler)


def find_worker(app: Flask | None = None) -> ForgeWorker | None:
    """Return the worker of an application; None if it publishes on no forge."""
    return cast("ForgeWorker | None", (app or current_app).extensions.get(_EXTENSION))
