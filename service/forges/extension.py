"""Sets up the worker of a Flask application that publishes on forges.

Only such an application imports the clients of the forges: it takes a fifth of the time that a service takes to start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from runner.contract.gate import ForgeKind
from runner.contract.job import Backend
from service.config.settings import Config
from service.forges.forgejo.settings import ForgejoSettings
from service.forges.github.settings import GithubSettings
from service.forges.gitlab.settings import GitlabSettings
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database

if TYPE_CHECKING:
    from service.forges.forge import Forge
    from service.forges.worker import ForgeWorker

_EXTENSION = "faultwatch.forges"


def register(app: Flask, data: Database, config: Config, scheduler: JobScheduler) -> None:
    """Give an application its worker where the settings name a forge; with GitHub, the scheduler starts jobs there."""
    forges = _forges(config, scheduler)
    if not forges:
        return
    from service.forges.worker import ForgeWorker  # noqa: PLC0415 - see above

    app.extensions[_EXTENSION] = ForgeWorker(data, forges, jobs=scheduler)


def _forges(config: Config, scheduler: JobScheduler) -> dict[ForgeKind, Forge]:
    forges: dict[ForgeKind, Forge] = {}
    if isinstance(github := config.forges.get(ForgeKind.GITHUB), GithubSettings):
        from service.forges.github.actions_starter import ActionsStarter  # noqa: PLC0415
        from service.forges.github.client import Client  # noqa: PLC0415
        from service.forges.github.forge import GithubForge  # noqa: PLC0415

        client = Client(github)
        actions = ActionsStarter(client, github.address)
        scheduler.starters[Backend.GITHUB] = scheduler.result_poster = actions
        forges[ForgeKind.GITHUB] = GithubForge(client, github)
    if isinstance(gitlab := config.forges.get(ForgeKind.GITLAB), GitlabSettings):
        from service.forges.gitlab.forge import GitlabForge  # noqa: PLC0415

        forges[ForgeKind.GITLAB] = GitlabForge.at(gitlab)
    if isinstance(forgejo := config.forges.get(ForgeKind.FORGEJO), ForgejoSettings):
        from service.forges.forgejo.forge import ForgejoForge  # noqa: PLC0415

        forges[ForgeKind.FORGEJO] = ForgejoForge.at(forgejo)
    return forges


def worker(app: Flask | None = None) -> ForgeWorker | None:
    """Return the worker of an application; None where it publishes on no forge."""
    return cast("ForgeWorker | None", (app or current_app).extensions.get(_EXTENSION))
