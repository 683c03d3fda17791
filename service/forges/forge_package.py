"""The entry of a forge in the registry: everything that the service needs before it connects to the forge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.contract.gate import ForgeKind
from service.config.forge_settings import ForgeSettings

if TYPE_CHECKING:
    from service.forges.forge import Forge
    from service.jobs.scheduler import JobScheduler


@dataclass(frozen=True, slots=True)
class ForgePackage:
    """A forge in the registry.

    Attributes
    ----------
    settings
        The class of its settings, whose environment variables turn the forge on.
    role
        What the service is to the forge, such as ``GitHub App``. The answer 404 without this forge names it.
    refusal_clause
        Why a delivery without a valid signature or secret is refused, as the end of a sentence.
    connect
        Returns the forge for some settings without calling it, and registers it with the scheduler if it can start
        jobs. It imports the forge's client, which takes a fifth of the start time of a service.
    max_webhook_bytes
        The size of the largest event that is accepted. GitHub sends no larger events.
    """

    settings: type[ForgeSettings]
    role: str
    refusal_clause: str
    connect: Callable[[Any, JobScheduler], Forge]
    max_webhook_bytes: int = 25 << 20

    @property
    def kind(self) -> ForgeKind:
        """The kind of the forge."""
        return self.settings.kind

    @property
    def webhook(self) -> str:
        """The path at which the service receives the forge's webhooks."""
        return f"/{self.kind}/webhook"
