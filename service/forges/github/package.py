"""GitHub for the registry of forges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.forges.forge_package import ForgePackage
from service.forges.github.settings import GithubSettings

if TYPE_CHECKING:
    from service.forges.forge import Forge
    from service.jobs.scheduler import JobScheduler


def _create_forge(settings: GithubSettings, scheduler: JobScheduler) -> Forge:
    """Return GitHub as a forge, and let the scheduler start jobs in its Actions."""
    from runner.contract.job import Backend  # noqa: PLC0415 - see ForgePackage
    from service.forges.github.actions_starter import ActionsStarter  # noqa: PLC0415
    from service.forges.github.client import Client  # noqa: PLC0415
    from service.forges.github.forge import GithubForge  # noqa: PLC0415

    client = Client(settings)
    actions = ActionsStarter(client, settings.address)
    scheduler.starters[Backend.GITHUB] = scheduler.result_poster = actions
    return GithubForge(client, settings)


PACKAGE = ForgePackage(
    settings=GithubSettings,
    role="GitHub App",
    refusal_clause="signature in X-Hub-Signature-256 does not match the body",
    connect=_create_forge,
)
