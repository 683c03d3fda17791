"""The settings of the service: one class for each purpose, one field for each environment variable."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from runner.contract.gate import ForgeKind
from runner.contract.report import make_safe_name
from service.config.access import Access, requires_tokens
from service.config.forge_settings import ForgeSettings
from service.config.identity_provider import IdentityProvider
from service.config.notifications import NotificationFile
from service.config.setting_fields import (
    ADDRESS_UNIT,
    SECRET,
    BaseAddress,
    Seconds,
    SecretFile,
    Words,
    YesOrNo,
    declare_setting,
    expand_user,
)
from service.config.settings_from_environment import Settings
from service.config.trusted_hosts import DEFAULT_NAMES, add_loopback
from service.config.trusted_jobs import TrustedJobs
from service.errors import ServiceError

SESSION_KEY = "session.key"
"""The name of the file in the data folder with the key that signs sessions."""
JOB_LEASE = timedelta(seconds=90)
"""How long a silent runner keeps its job."""
NARROWING_RUNS = 200
"""How many runs within 24 hours the service may order for each subject by itself, to narrow down open ranges."""
HOST_IDLE_TIME = timedelta(minutes=2)
"""The time without a new run after which a host counts as idle."""


def read_host_name() -> str:
    """Return the name that this machine has in reports."""
    return make_safe_name(socket.gethostname())


def build_sqlite_address(file: Path) -> str:
    """Return the address of a SQLite database, whatever its path contains."""
    return f"sqlite:///{str(file).replace('%', '%25').replace('?', '%3F')}"


def _check_database_address(address: str) -> str:
    """Return the address of a database; raise if it is not valid."""
    from service.config.database_address import parse_address  # noqa: PLC0415 - SQLAlchemy: --help needs none

    parse_address(address)
    return address


def _hide_database_password(config: Config) -> str:
    from service.config.database_address import hide_password, parse_address  # noqa: PLC0415 - as above

    return hide_password(parse_address(config.database_url))


def _check_addresses(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return addresses of machines in the form in which callers are compared; raise for names and networks."""
    addresses = map(ipaddress.ip_address, words)
    return tuple(str(getattr(address, "ipv4_mapped", None) or address) for address in addresses)


_Duration = Annotated[Seconds, Field(ge=timedelta(seconds=1), le=timedelta(days=1))]


class Config(Settings):
    """The settings of the service, including those of forges, sign-in and notifications."""

    heading, guide = "Service", "Who may do what"

    home: Annotated[Path, AfterValidator(lambda home: expand_user(home).absolute())] = declare_setting(
        "FAULTWATCH_HOME",
        "Home",
        default_factory=lambda: Path("~/.local/share/faultwatch").expanduser(),
        default_text="`~/.local/share/faultwatch`",
    )
    """The folder of all data."""
    database_url: Annotated[str, AfterValidator(_check_database_address)] = declare_setting(
        "DATABASE_URL",
        "Database",
        default_factory=lambda settings: build_sqlite_address(settings["home"] / "faultwatch.db"),
        default_text="SQLite in `FAULTWATCH_HOME`",
        format_shown=_hide_database_password,
        repr=False,
    )
    """The database: `postgresql://user:password@host/name`, or `sqlite:////path/to/file.db`."""
    port: Annotated[int, Field(ge=0, le=65535)] = declare_setting(
        "FAULTWATCH_PORT", "Port", 8080, unit="a number, 0 to 65535"
    )
    """The TCP port; 0 for any free one."""
    # None trusts all names; see service/config/trusted_hosts.py.
    trusted_hosts: Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(add_loopback)] = declare_setting(
        "FAULTWATCH_NAMES",
        "Names",
        DEFAULT_NAMES,
        default_text="`localhost` and `127.0.0.1`",
        unit="words",
        unset_text="any",
    )
    """The host names that the service answers to. Requests for any other name are refused."""
    access: Access | None = declare_setting(
        "FAULTWATCH_ACCESS",
        "Access",
        None,
        default_text="`tokens` if other machines can reach the service, or if an identity provider is set",
        unit="`open` or `tokens`",
        format_shown=lambda config: "by token" if config.by_token else "open: every caller may do anything",
    )
    """Whether callers need a token."""
    anonymous_read: YesOrNo = declare_setting(
        "FAULTWATCH_ANONYMOUS_READ", "Anonymous reading", False, unit="`yes` or `no`"
    )
    """Whether callers without a token see the results."""
    workers: Annotated[int, Field(ge=1, le=64)] = declare_setting(
        "FAULTWATCH_WORKERS", "Processes", 1, unit="a number, 1 to 64"
    )
    """Number of serving processes."""
    jobs_here: YesOrNo | None = declare_setting(
        "FAULTWATCH_JOBS_HERE",
        "Jobs here",
        None,
        default_text="`yes` if no tokens are required",
        unit="`yes` or `no`",
        format_shown=lambda config: "yes" if config.starts_jobs else "no",
    )
    """Whether this machine carries out jobs."""
    host: Annotated[str, AfterValidator(make_safe_name)] = declare_setting(
        "FAULTWATCH_HOST", "Host", default_factory=read_host_name, default_text="the host name"
    )
    """The name of this machine in the reports of its jobs."""
    lease: _Duration = declare_setting(
        "FAULTWATCH_LEASE_SECONDS",
        "Lease",
        JOB_LEASE,
        unit="a number of seconds, 1 to 86400",
        format_shown=lambda config: f"{config.lease.total_seconds():.0f} s",
    )
    """How long a silent runner keeps its job."""
    narrowing_runs: Annotated[int, Field(ge=1, le=100_000)] = declare_setting(
        "FAULTWATCH_NARROWING_RUNS",
        "Runs for automatic bisects",
        NARROWING_RUNS,
        unit="a number, 1 to 100000",
        format_shown=lambda config: f"{config.narrowing_runs:,}",
    )
    """The largest number of runs within 24 hours that the service orders by itself to find the commits of drifts, for
    each subject whose policy is `do`."""
    idle: _Duration = declare_setting(
        "FAULTWATCH_IDLE_SECONDS",
        "Idle after",
        HOST_IDLE_TIME,
        unit="a number of seconds, 1 to 86400",
        format_shown=lambda config: f"{config.idle.total_seconds():.0f} s",
    )
    """The time without a new run after which a host counts as idle. The service orders work by itself only on idle
    hosts."""
    proxies: Annotated[Words, AfterValidator(_check_addresses)] = declare_setting(
        "FAULTWATCH_PROXIES", "Proxies", (), default_text="none", unit="IP addresses", unset_text="on this machine"
    )
    """Addresses of trusted proxies on other machines. A trusted proxy states for whom it sends a request."""
    session_key: Annotated[bytes | None, SecretFile("The session key", min_length=32, is_optional=True)] = (
        declare_setting(
            "FAULTWATCH_SESSION_KEY_FILE",
            "Session key",
            None,
            default_text="`session.key` in `FAULTWATCH_HOME`; the service creates this file",
            format_shown=lambda config: SECRET if config.session_key else str(config.home / SESSION_KEY),
            repr=False,
        )
    )
    """The file with the key that signs the cookies of browsers. Machines that share a database need the same key."""
    address: BaseAddress = declare_setting("FAULTWATCH_ADDRESS", "Address", "", default_text="none", unit=ADDRESS_UNIT)
    """The address at which people and runners reach the service, for links."""
    forges: dict[ForgeKind, ForgeSettings] = Field(default_factory=dict)
    """The forges that are turned on."""
    jobs: TrustedJobs | None = None
    """The jobs of GitHub Actions that may sign in; None if no job may."""
    provider: IdentityProvider | None = None
    """The identity provider at which people sign in; None if they sign in with tokens."""
    notifications: NotificationFile = Field(default_factory=NotificationFile)
    """The file of the notification channels."""

    @property
    def starts_jobs(self) -> bool:
        """Whether this machine carries out jobs; by default, only if callers need no tokens."""
        return not self.by_token if self.jobs_here is None else self.jobs_here

    @property
    def by_token(self) -> bool:
        """Whether callers have to sign in or present tokens."""
        return requires_tokens(self.access, self.trusted_hosts, has_provider=self.provider is not None)

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, forges: Iterable[type[ForgeSettings]] = ()
    ) -> Config:
        """Read the settings from environment variables.

        Parameters
        ----------
        forges
            The classes of the forges whose settings are read (``service.forges.registry``); none for commands that call
            no forge.

        Raises
        ------
        ServiceError
            If a value is not valid, or a file cannot be read.
        """
        config = cls.read(environment)
        provider = IdentityProvider.read_if_enabled(environment, config.address)
        if provider is not None and config.access is Access.OPEN:
            remedy = f"Unset either FAULTWATCH_ACCESS or {IdentityProvider.switch}."
            raise ServiceError("People cannot sign in to an open service", "FAULTWATCH_ACCESS=open", remedy)
        forge_settings = (forge.read_if_enabled(environment, config.address) for forge in forges)
        return config.copy_with_values(
            forges={settings.kind: settings for settings in forge_settings if settings is not None},
            jobs=TrustedJobs.read_if_enabled(environment, config.address),
            provider=provider,
            notifications=NotificationFile.read(environment),
        )

    def copy_with_values(self, **changes: Any) -> Config:
        """Return a copy of the settings in which the given fields have other values."""
        return self.model_copy(update=changes)
