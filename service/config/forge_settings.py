"""The common part of the settings of all forges. Each forge has its own class in ``service/forges/FORGE``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from runner.contract.gate import ForgeKind
from service.config.setting_fields import BaseAddress, SecretFile
from service.config.settings_from_environment import Settings

WebhookSecret = Annotated[bytes, SecretFile("The webhook's secret", min_length=16)]
"""The secret by which a forge proves that it has sent a webhook."""
Token = Annotated[str, SecretFile(is_token=True)]
"""The token with which the service calls a forge."""


class ForgeSettings(Settings):
    """The settings of a forge."""

    kind: ClassVar[ForgeKind]
    switch: ClassVar[str]
    """The field whose variable turns the forge on."""

    address: BaseAddress = ""
    """The address at which people reach this service, for links; empty if there is no such address."""

    @classmethod
    def read_if_enabled(cls, environment: Mapping[str, str], address: str) -> Self | None:
        """Read the variables of the forge; return None if it is not turned on.

        Raises
        ------
        ServiceError
            If a value is not valid, or a file cannot be read.
        """
        variable = str(cls.model_fields[cls.switch].validation_alias)
        return cls.read(environment, address=address) if environment.get(variable) else None


class TokenForge(ForgeSettings):
    """A forge that the service calls as a user with a token. Subclasses define the variables of these fields."""

    switch = "url"

    url: BaseAddress
    """The address of the forge, without the path of the API."""
    token: Token
    secret: WebhookSecret
