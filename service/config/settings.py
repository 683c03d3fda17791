"""Settings of the service, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from service.config.github_app import GithubSettings
from service.config.trusted_jobs import TrustedJobs
from service.errors import ServiceError

LOOPBACK = ("localhost", "127.0.0.1")
LEASE = timedelta(seconds=90)
"""For how long a runner that is not heard of keeps its job."""


class Access(StrEnum):
    """Whom the service answers."""

    OPEN = "open"
    """Everybody who reaches it may do everything."""
    TOKENS = "tokens"
    """Callers have to show a token."""


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
    access
        Whom it answers. None leaves that to the names: it takes tokens, unless all of them are loopback's.
    workers
        Processes that serve.
    github
        The GitHub App that it is; None where it is none.
    jobs
        The GitHub Actions jobs that may sign in; None for none.
    jobs_here
        Whether jobs are carried out on this machine; None leaves that to whom it answers.
    lease
        For how long a runner that is not heard of keeps its job.
    """

    home: Path
    database_url: str
    port: int = 8080
    trusted_hosts: tuple[str, ...] | None = field(default=LOOPBACK)
    access: Access | None = None
    workers: int = 1
    github: GithubSettings | None = None
    jobs: TrustedJobs | None = None
    jobs_here: bool | None = None
    lease: timedelta = LEASE

    @property
    def starts_jobs(self) -> bool:
        """Whether this machine carries out jobs: one that others reach does not, unless it is told to."""
        return not self.by_token if self.jobs_here is None else self.jobs_here

    @property
    def by_token(self) -> bool:
        """Whether callers have to show tokens."""
        if self.access is not None:
            return self.access is Access.TOKENS
        return self.trusted_hosts is None or not set(self.trusted_hosts) <= set(LOOPBACK)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        """Read FAULTWATCH_HOME, DATABASE_URL, FAULTWATCH_PORT, _NAMES, _ACCESS and _WORKERS."""
        home = Path(environment.get("FAULTWATCH_HOME") or "~/.local/share/faultwatch").expanduser().absolute()
        return cls(
            home=home,
            database_url=environment.get("DATABASE_URL") or f"sqlite:///{home / 'faultwatch.db'}",
            port=_port(environment.get("FAULTWATCH_PORT") or "8080"),
            trusted_hosts=(*LOOPBACK, *(environment.get("FAULTWATCH_NAMES") or "").replace(",", " ").split()),
            access=_access(environment.get("FAULTWATCH_ACCESS")),
            workers=_workers(environment.get("FAULTWATCH_WORKERS") or "1"),
            github=GithubSettings.from_environment(environment),
            jobs=TrustedJobs.from_environment(environment),
            jobs_here=_yes_or_no("FAULTWATCH_JOBS_HERE", environment.get("FAULTWATCH_JOBS_HERE")),
            lease=_lease(environment.get("FAULTWATCH_LEASE_SECONDS")),
        )


def _access(text: str | None) -> Access | None:
    try:
        return Access(text) if text else None
    except ValueError:
        remedy = "Set open or tokens, or leave it out."
        raise ServiceError("Not a kind of access", f"FAULTWATCH_ACCESS={text}", remedy) from None


def _yes_or_no(name: str, text: str | None) -> bool | None:
    if text not in {None, "", "yes", "no"}:
        raise ServiceError("Neither yes nor no", f"{name}={text}", "Set yes or no, or leave it out.")
    return text == "yes" if text else None


def _lease(text: str | None) -> timedelta:
    if not text:
        return LEASE
    if text.isdecimal() and 1 <= int(text) <= 86_400:
        return timedelta(seconds=int(text))
    raise ServiceError("Not a time", f"FAULTWATCH_LEASE_SECONDS={text}", "Set seconds, from 1 to 86400.")


def _workers(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= 64:
        return int(text)
    raise ServiceError("Not a number of processes", f"FAULTWATCH_WORKERS={text}", "Set a number from 1 to 64.")


def _port(text: str) -> int:
    if text.isdecimal() and int(text) <= 65535:
        return int(text)
    raise ServiceError("Not a port", f"FAULTWATCH_PORT={text}", "Set a number from 0 to 65535 (0: any free one).")
