"""What a forge's package provides: everything that the service needs of the forge before it calls it."""

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
    """A forge, as the registry has it.

    Attributes
    ----------
    settings
        The class of its settings; their variables turn it on.
    role
        What the service is where the forge is turned on, such as ``GitHub App``; for the answer where it is not.
    refusal_clause
        Why a delivery is refused that the forge cannot have sent, as the end of a sentence.
    connect
        Returns the forge that some settings name, without a call, and has the scheduler start jobs there if it can.
        It imports the forge's client, which takes a fifth of the time that a service takes to start.
    max_webhook_bytes
        Size of the largest event that is taken. GitHub sends no larger one.
    """

    settings: type[ForgeSettings]
    role: str
    refusal_clause: str
    connect: Callable[[Any, JobScheduler], Forge]
    max_webhook_bytes: int = 25 << 20

    @property
    def kind(self) -> ForgeKind:
        """Which forge it is."""
        return self.settings.kind

    @property
    def webhook(self) -> str:
        """Path at which the service takes the forge's webhooks."""
        return f"/{self.kind}/webhook"
