"""Reads the settings of the service from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from service.config.github_app import GithubSettings
from service.config.token_forges import FORGEJO, GITLAB, TokenForge
from service.config.trusted_jobs import TrustedJobs
from service.errors import ServiceError

LOOPBACK = ("localhost", "127.0.0.1")
LEASE = timedelta(seconds=90)
"""How long a silent runner keeps its job."""


class Access(StrEnum):
    """Who has access to the service."""

    OPEN = "open"
    """Everybody who reaches it may do everything."""
    TOKENS = "tokens"
    """Callers have to present a token."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of the service.

    Attributes
    ----------
    home
        Folder of all data that the service stores.
    database_url
        SQLAlchemy address of the database.
    port
        TCP port to serve at; 0 for any free one.
    trusted_hosts
        Names under which the service answers. Requests for other names are refused, so that a foreign web page cannot
        reach a service on loopback by pointing its own name there. None trusts every name.
    access
        Who has access. None derives it from the names: tokens are required unless all names are loopback's.
    workers
        Number of serving processes.
    github
        The GitHub App as which it acts; None for none.
    gitlab, forgejo
        The forges at which it is a user; None for none.
    jobs
        The GitHub Actions jobs that may sign in; None for none.
    jobs_here
        Whether this machine carries out jobs; None derives it from the access.
    lease
        How long a silent runner keeps its job.
    proxies
        Addresses of the proxies, other than those on this machine, that say for whom they ask.
    anonymous_read
        Whether a service that requires tokens shows its results to callers without one.
    """

    home: Path
    database_url: str
    port: int = 8080
    trusted_hosts: tuple[str, ...] | None = field(default=LOOPBACK)
    access: Access | None = None
    workers: int = 1
    github: GithubSettings | None = None
    gitlab: TokenForge | None = None
    forgejo: TokenForge | None = None
    jobs: TrustedJobs | None = None
    jobs_here: bool | None = None
    lease: timedelta = LEASE
    proxies: tuple[str, ...] = ()
    anonymous_read: bool = False

    @property
    def starts_jobs(self) -> bool:
        """Whether this machine carries out jobs; by default not where callers need tokens."""
        return not self.by_token if self.jobs_here is None else self.jobs_here

    @property
    def by_token(self) -> bool:
        """Whether callers have to present tokens."""
        if self.access is not None:
            return self.access is Access.TOKENS
        return self.trusted_hosts is None or not set(self.trusted_hosts) <= set(LOOPBACK)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        """Read FAULTWATCH_HOME, DATABASE_URL, FAULTWATCH_PORT, _NAMES, _ACCESS, _WORKERS, _JOBS_HERE, _LEASE_SECONDS.

        FAULTWATCH_PROXIES, _ANONYMOUS_READ and the settings of forges and of trusted jobs are read as well.
        """
        home = Path(environment.get("FAULTWATCH_HOME") or "~/.local/share/faultwatch").expanduser().absolute()
        return cls(
            home=home,
            database_url=environment.get("DATABASE_URL") or f"sqlite:///{home / 'faultwatch.db'}",
            port=_port(environment.get("FAULTWATCH_PORT") or "8080"),
            trusted_hosts=(*LOOPBACK, *(environment.get("FAULTWATCH_NAMES") or "").replace(",", " ").split()),
            access=_access(environment.get("FAULTWATCH_ACCESS")),
            workers=_workers(environment.get("FAULTWATCH_WORKERS") or "1"),
            github=GithubSettings.from_environment(environment),
            gitlab=TokenForge.from_environment(GITLAB, environment),
            forgejo=TokenForge.from_environment(FORGEJO, environment),
            jobs=TrustedJobs.from_environment(environment),
            jobs_here=_yes_or_no("FAULTWATCH_JOBS_HERE", environment.get("FAULTWATCH_JOBS_HERE")),
            lease=_lease(environment.get("FAULTWATCH_LEASE_SECONDS")),
            proxies=tuple((environment.get("FAULTWATCH_PROXIES") or "").replace(",", " ").split()),
            anonymous_read=_yes_or_no("FAULTWATCH_ANONYMOUS_READ", environment.get("FAULTWATCH_ANONYMOUS_READ"))
            or False,
        )


def _access(text: str | None) -> Access | None:
    try:
        return Access(text) if text else None
    except ValueError:
        remedy = "Set it to open or tokens, or unset it."
        raise ServiceError("This is not a kind of access", f"FAULTWATCH_ACCESS={text}", remedy) from None


def _yes_or_no(name: str, text: str | None) -> bool | None:
    if text not in {None, "", "yes", "no"}:
        raise ServiceError("This is neither yes nor no", f"{name}={text}", "Set it to yes or no, or unset it.")
    return text == "yes" if text else None


def _lease(text: str | None) -> timedelta:
    if not text:
        return LEASE
    if text.isdecimal() and 1 <= int(text) <= 86_400:
        return timedelta(seconds=int(text))
    remedy = "Set it to a number of seconds from 1 to 86400."
    raise ServiceError("This is not a duration", f"FAULTWATCH_LEASE_SECONDS={text}", remedy)


def _workers(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= 64:
        return int(text)
    remedy = "Set it to a number from 1 to 64."
    raise ServiceError("This is not a number of processes", f"FAULTWATCH_WORKERS={text}", remedy)


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    remedy = "Set it to a number from 0 to 65535 (0 for any free port)."
    raise ServiceError("This is not a port", f"FAULTWATCH_PORT={text}", remedy)
