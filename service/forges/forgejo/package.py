"""Forgejo and Gitea for the registry of forges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.forges.forge_package import ForgePackage
from service.forges.forgejo.settings import ForgejoSettings

if TYPE_CHECKING:
    from service.forges.forge import Forge
    from service.jobs.scheduler import JobScheduler


def _create_forge(settings: ForgejoSettings, _: JobScheduler) -> Forge:
    from service.forges.forgejo.forge import ForgejoForge  # noqa: PLC0415 - see ForgePackage

    return ForgejoForge.from_settings(settings)


PACKAGE = ForgePackage(
    settings=ForgejoSettings,
    role="Forgejo connection",
    refusal_clause="signature in X-Forgejo-Signature does not match the body",
    connect=_create_forge,
)
