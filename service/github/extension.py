"""The queue of work for GitHub of a Flask application that is a GitHub App.

Only such an application imports what it takes to talk to GitHub: that is a fifth of the time a service takes to start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from runner.contract.job import Backend
from service.config.settings import Config
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database

if TYPE_CHECKING:
    from service.github.queue import Queue

_EXTENSION = "faultwatch.github"


def register(app: Flask, data: Database, config: Config, scheduler: JobScheduler) -> None:
    """Give an application its queue where it is an App; the scheduler can then start jobs as GitHub Actions."""
    if config.github is None:
        return
    from service.github.client import Client  # noqa: PLC0415 - see above
    from service.github.job_starter import ActionsStarter  # noqa: PLC0415
    from service.github.queue import Queue  # noqa: PLC0415
    from service.github.worker import GithubWorker  # noqa: PLC0415

    client = Client(config.github)
    actions = ActionsStarter(client, config.github.address)
    scheduler.starters[Backend.GITHUB] = scheduler.teller = actions
    app.extensions[_EXTENSION] = Queue(GithubWorker(data, client, config.github, jobs=scheduler), config.home)


def queue(app: Flask | None = None) -> Queue | None:
    """Return the queue of an application; None where it is no App."""
    return cast("Queue | None", (app or current_app).extensions.get(_EXTENSION))
