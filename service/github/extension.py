"""Sets up the GitHub worker of a Flask application that is a GitHub App.

Only such an application imports the GitHub client: the import takes a fifth of the time that a service takes to start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from runner.contract.job import Backend
from service.config.settings import Config
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database

if TYPE_CHECKING:
    from service.github.queue import GithubQueue

_EXTENSION = "faultwatch.github"


def register(app: Flask, data: Database, config: Config, scheduler: JobScheduler) -> None:
    """Give an application its queue where the settings make it an App; the scheduler then starts jobs on GitHub."""
    if config.github is None:
        return
    from service.github.actions_starter import ActionsStarter  # noqa: PLC0415
    from service.github.client import Client  # noqa: PLC0415 - see above
    from service.github.queue import GithubQueue  # noqa: PLC0415
    from service.github.worker import GithubWorker  # noqa: PLC0415

    client = Client(config.github)
    actions = ActionsStarter(client, config.github.address)
    scheduler.starters[Backend.GITHUB] = scheduler.result_poster = actions
    app.extensions[_EXTENSION] = GithubQueue(GithubWorker(data, client, config.github, jobs=scheduler), config.home)


def queue(app: Flask | None = None) -> GithubQueue | None:
    """Return the queue of an application; None where it is no App."""
    return cast("GithubQueue | None", (app or current_app).extensions.get(_EXTENSION))
