"""GitLab for the registry of forges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.forges.forge_package import ForgePackage
from service.forges.gitlab.settings import GitlabSettings

if TYPE_CHECKING:
    from service.forges.forge import Forge
    from service.jobs.scheduler import JobScheduler


def _create_forge(settings: GitlabSettings, _: JobScheduler) -> Forge:
    from service.forges.gitlab.forge import GitlabForge  # noqa: PLC0415 - see ForgePackage

    return GitlabForge.from_settings(settings)


PACKAGE = ForgePackage(
    settings=GitlabSettings,
    role="GitLab connection",
    refusal_clause="secret in X-Gitlab-Token does not match this service's secret",
    connect=_create_forge,
)
