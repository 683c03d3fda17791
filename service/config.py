"""Settings of the service, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from service.errors import ServiceError

LOOPBACK = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Config:
    """Where the service keeps its data and whom it answers.

    Attributes
    ----------
    home
        Folder of everything that the service stores.
    database_url
        SQLAlchemy address of the database.
    port
        TCP port to serve at; 0 for any that is free.
    trusted_hosts
        Names by which the service may be called. A request for another name is refused, so that a web page somewhere
        cannot reach a service on loopback by pointing its own name there. None trusts every name.
    """

    home: Path
    database_url: str
    port: int = 8080
    trusted_hosts: tuple[str, ...] | None = field(default=LOOPBACK)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        """Read FAULTWATCH_HOME, DATABASE_URL and FAULTWATCH_PORT."""
        home = Path(environment.get("FAULTWATCH_HOME") or "~/.local/share/faultwatch").expanduser().absolute()
        return cls(
            home=home,
            database_url=environment.get("DATABASE_URL") or f"sqlite:///{home / 'faultwatch.db'}",
            port=_port(environment.get("FAULTWATCH_PORT") or "8080"),
        )


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    raise ServiceError("Not a port", f"FAULTWATCH_PORT={text}", "Set a number from 0 to 65535 (0: any free one).")
