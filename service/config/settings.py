"""Reads the settings of the service from the environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from runner.contract.report import safe_name
from service.config.access import Access
from service.config.github_app import GithubSettings
from service.config.secret_files import read_long_secret
from service.config.token_forges import FORGEJO, GITLAB, TokenForge
from service.config.trusted_jobs import TrustedJobs

SESSION_KEY = "session.key"
"""Name of the file in the folder of data."""
LOOPBACK = ("localhost", "127.0.0.1")
LEASE = timedelta(seconds=90)
"""How long a silent runner keeps its job."""
NARROWING_RUNS = 200
"""How many runs within 24 hours may narrow open ranges down by themselves, for each subject."""
IDLE = timedelta(minutes=2)
"""Time without a new run after which a host counts as idle."""

_SHORTEST_KEY = 32


def this_host() -> str:
    """Return the name of this machine in reports."""
    return safe_name(socket.gethostname())


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
    host
        Name of this machine in the reports of its jobs.
    lease
        How long a silent runner keeps its job.
    narrowing_runs
        How many runs within 24 hours may narrow open ranges down by themselves, for each subject that wants it.
    idle
        Time without a new run after which a host counts as idle.
    proxies
        Addresses of the proxies, other than those on this machine, that say for whom they ask.
    anonymous_read
        Whether a service that requires tokens shows its results to callers without one.
    session_key
        What signs the cookies of browsers; None for a key that the service makes in the folder of data.
    notifications
        File of the notification channels; None for the one in the folder of data.
    address
        Address at which people and runners reach the service; empty where they cannot.
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
    host: str = field(default_factory=this_host)
    lease: timedelta = LEASE
    narrowing_runs: int = NARROWING_RUNS
    idle: timedelta = IDLE
    proxies: tuple[str, ...] = ()
    anonymous_read: bool = False
    session_key: bytes | None = field(default=None, repr=False)
    notifications: Path | None = None
    address: str = ""

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
        """Read the settings from the variables of ``service.config.variables``."""
        # Imports pydantic-settings, which commands that read no settings need not load.
        from service.config.variables import read_variables  # noqa: PLC0415

        given = read_variables(environment)
        home = given.home.expanduser().absolute()
        return cls(
            home=home,
            database_url=given.database_url or f"sqlite:///{home / 'faultwatch.db'}",
            port=given.port,
            trusted_hosts=(*LOOPBACK, *given.names),
            access=given.access,
            workers=given.workers,
            github=GithubSettings.from_variables(given),
            gitlab=TokenForge.from_variables(
                GITLAB, given.gitlab_url, given.gitlab_token_file, given.gitlab_secret_file, given.address
            ),
            forgejo=TokenForge.from_variables(
                FORGEJO, given.forgejo_url, given.forgejo_token_file, given.forgejo_secret_file, given.address
            ),
            jobs=TrustedJobs.from_variables(given),
            jobs_here=given.jobs_here,
            host=safe_name(given.host) if given.host else this_host(),
            lease=timedelta(seconds=given.lease_seconds),
            narrowing_runs=given.narrowing_runs,
            idle=timedelta(seconds=given.idle_seconds),
            proxies=given.proxies,
            anonymous_read=given.anonymous_read,
            session_key=_session_key(given.session_key_file),
            notifications=given.notifications,
            address=given.address.rstrip("/"),
        )


def _session_key(file: Path | None) -> bytes | None:
    if file is None:
        return None
    return read_long_secret(file, "FAULTWATCH_SESSION_KEY_FILE", _SHORTEST_KEY, "The session key")
