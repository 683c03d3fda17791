"""The settings of a service and where each value comes from, without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from sqlalchemy import make_url

from service.config.github_app import GithubSettings
from service.config.notifications import FILE, VARIABLE, EmailChannel, NotificationSettings, WebhookChannel
from service.config.settings import LEASE, LOOPBACK, Config
from service.config.token_forges import FORGEJO, GITLAB, TokenForge, Variables
from service.config.trusted_jobs import TrustedJobs
from service.schemas.audit import AuditAction
from service.schemas.history import View
from service.store import audit
from service.store.engine.database import Database

_ACTIONS = "FAULTWATCH_ACTIONS_"
_SECRET = "set, and never shown"  # noqa: S105 - shown in place of one
_HIDDEN = "***"


class Setting(View):
    """One value."""

    name: str
    value: str
    source: str
    """``default``, ``given at the start``, a file, or the environment variable that says so."""
    meaning: str


class SettingGroup(View):
    """Settings that belong together."""

    title: str
    document: str
    """The document that describes them."""
    empty: str = ""
    """Shown where there are none."""
    settings: list[Setting]


def list_settings(
    config: Config, by_token: bool, environment: Mapping[str, str], channels: NotificationSettings | str
) -> list[SettingGroup]:
    """Return all settings, in groups.

    Parameters
    ----------
    by_token
        Whether callers have to show tokens.
    channels
        The notification channels; a text says why they cannot be read.
    """
    return [
        SettingGroup(
            title="Service", document="docs/how-to/access.md", settings=list(_service(config, by_token, environment))
        ),
        SettingGroup(
            title="GitHub App",
            document="docs/how-to/github.md",
            empty="The service is no GitHub App: FAULTWATCH_GITHUB_APP is not set.",
            settings=list(_app(config.github, environment)),
        ),
        SettingGroup(
            title="GitLab",
            document="docs/how-to/forges.md",
            empty="FAULTWATCH_GITLAB_URL is not set.",
            settings=list(_token_forge("GitLab", config.gitlab, GITLAB, environment)),
        ),
        SettingGroup(
            title="Forgejo",
            document="docs/how-to/forges.md",
            empty="FAULTWATCH_FORGEJO_URL is not set.",
            settings=list(_token_forge("Forgejo", config.forgejo, FORGEJO, environment)),
        ),
        SettingGroup(
            title="Jobs of GitHub Actions",
            document="docs/how-to/github.md",
            empty="No job may sign in: FAULTWATCH_ACTIONS_REPOSITORIES is not set.",
            settings=list(_jobs(config.jobs, environment)),
        ),
        SettingGroup(
            title="Notifications",
            document="docs/how-to/notifications.md",
            empty="" if isinstance(channels, NotificationSettings) else channels,
            settings=list(_channels(config, environment, channels))
            if isinstance(channels, NotificationSettings)
            else [],
        ),
    ]


def _service(config: Config, by_token: bool, environment: Mapping[str, str]) -> Iterator[Setting]:
    def one(name: str, value: str, variable: str, meaning: str, *, default: bool) -> Setting:
        return Setting(name=name, value=value, source=_source(environment, variable, default), meaning=meaning)

    home = not environment.get("FAULTWATCH_HOME")
    names = "any" if config.trusted_hosts is None else ", ".join(config.trusted_hosts)
    access = "by token" if by_token else "open: whoever reaches it may do everything"
    yield one("Home", str(config.home), "FAULTWATCH_HOME", "folder of everything that it stores", default=home)
    own_file = config.database_url == f"sqlite:///{config.home / 'faultwatch.db'}"
    yield one("Database", _without_password(config.database_url), "DATABASE_URL", "", default=own_file)
    yield one("Port", str(config.port), "FAULTWATCH_PORT", "TCP; 0 takes any that is free", default=config.port == 8080)
    yield one(
        "Names",
        names,
        "FAULTWATCH_NAMES",
        "by which it may be called; a request for another name is refused",
        default=config.trusted_hosts == LOOPBACK,
    )
    yield one(
        "Access",
        access,
        "FAULTWATCH_ACCESS",
        "by token, unless all of its names are loopback's",
        default=config.access is None,
    )
    yield one(
        "Anonymous reading",
        "yes" if config.anonymous_read else "no",
        "FAULTWATCH_ANONYMOUS_READ",
        "whether callers without a token see the results",
        default=not config.anonymous_read,
    )
    yield one("Processes", str(config.workers), "FAULTWATCH_WORKERS", "that serve", default=config.workers == 1)
    yield one(
        "Jobs here",
        "yes" if config.starts_jobs else "no",
        "FAULTWATCH_JOBS_HERE",
        "whether this machine carries out jobs; only where no tokens are asked for, unless it is told to",
        default=config.jobs_here is None,
    )
    yield one(
        "Lease",
        f"{config.lease.total_seconds():.0f} s",
        "FAULTWATCH_LEASE_SECONDS",
        "for how long a runner that is not heard of keeps its job",
        default=config.lease == LEASE,
    )
    yield one(
        "Proxies",
        ", ".join(config.proxies) or "on this machine",
        "FAULTWATCH_PROXIES",
        "that say for whom they ask",
        default=not config.proxies,
    )


def _app(settings: GithubSettings | None, environment: Mapping[str, str]) -> Iterator[Setting]:
    if settings is None:
        return
    known = GithubSettings(app_id=0, key="", secret=b"")
    prefix = "FAULTWATCH_GITHUB_"
    for name, value, variable, usual, meaning in (
        ("App", str(settings.app_id), f"{prefix}APP", None, "its number"),
        ("Private key", _SECRET, f"{prefix}KEY_FILE", None, "what it signs in with"),
        ("Webhook secret", _SECRET, f"{prefix}SECRET_FILE", None, "what GitHub signs webhooks with"),
        ("API", settings.api, f"{prefix}API", known.api, "address of GitHub's API"),
        ("Workflow", settings.workflow, f"{prefix}WORKFLOW", known.workflow, "what measures a pull request"),
        ("Address", settings.address or "none", "FAULTWATCH_ADDRESS", "none", "where people reach this service"),
    ):
        yield Setting(name=name, value=value, source=_source(environment, variable, value == usual), meaning=meaning)


def _token_forge(
    forge: str, settings: TokenForge | None, variables: Variables, environment: Mapping[str, str]
) -> Iterator[Setting]:
    if settings is None:
        return
    for name, value, variable, meaning in (
        (f"{forge} address", settings.url, variables.url, "where it is"),
        (f"{forge} token", _SECRET, variables.token_file, "of the user as which the service writes"),
        (f"{forge} webhook secret", _SECRET, variables.secret_file, "what webhooks are proven with"),
    ):
        source = _source(environment, variable, default=False)
        yield Setting(name=name, value=value, source=source, meaning=meaning)


def _jobs(trusted: TrustedJobs | None, environment: Mapping[str, str]) -> Iterator[Setting]:
    if trusted is None:
        return
    for name, words, variable, meaning in (
        ("Repositories", trusted.repositories, "REPOSITORIES", "whose jobs may sign in"),
        ("Audience", (trusted.audience,), "AUDIENCE", "whom an identity has to be made for"),
        ("Workflows", trusted.workflows or ("any",), "WORKFLOWS", "which may sign in"),
        ("Runners", trusted.runners, "RUNNERS", "kinds of runners that may sign in"),
        ("Issuer", (trusted.issuer,), "ISSUER", "who signs identities"),
        ("Subjects", tuple(map("=".join, trusted.subjects)) or ("of the same name",), "SUBJECTS", "whose they are"),
        ("Hosts", trusted.hosts or ("any",), "HOSTS", "as which jobs may report"),
    ):
        yield Setting(
            name=name,
            value=", ".join(words),
            source=_source(environment, f"{_ACTIONS}{variable}", default=True),
            meaning=meaning,
        )


def _channels(config: Config, environment: Mapping[str, str], settings: NotificationSettings) -> Iterator[Setting]:
    file = environment.get(VARIABLE) or str(config.home / FILE)
    source = file if settings != NotificationSettings() else "default"
    yield Setting(name="Address in messages", value=settings.url, source=source, meaning="where their links lead")
    for channel in settings.channel:
        yield Setting(
            name=channel.name, value=_channel(channel, environment), source=file, meaning=f"a channel: {channel.kind}"
        )


def _channel(channel: EmailChannel | WebhookChannel, environment: Mapping[str, str]) -> str:
    """Describe where a channel sends. The path of a webhook is its secret."""
    said = [] if channel.subject == "*" else [f"only {channel.subject}"]
    said += [] if channel.only == "all" else [f"only {channel.only}"]
    if channel.digest is not None:
        said.append(f"one message a day at {channel.digest:%H:%M} {channel.zone}")
    if channel.quiet is not None:
        said.append(f"quiet from {channel.quiet.start:%H:%M} to {channel.quiet.end:%H:%M} {channel.zone}")
    if isinstance(channel, EmailChannel):
        where = f"{', '.join(channel.to)} by {channel.host} port {channel.port}"
        variable = channel.password_variable
    else:
        variable = channel.url_variable
        where = f"at {urlsplit(channel.url).hostname}" if channel.url else "at an address that is kept secret"
    if variable is not None:
        said.append(f"{variable} is {_SECRET if environment.get(variable) else 'not set'}")
    return "; ".join([where, *said])


def _source(environment: Mapping[str, str], variable: str, default: bool) -> str:
    return variable if environment.get(variable) else "default" if default else "given at the start"


def _without_password(address: str) -> str:
    url = make_url(address)
    query = {name: _HIDDEN if "pass" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)


def record_changes(database: Database, config: Config) -> None:
    """Record the settings with which the service starts in the audit log, if they are not those of its last start."""
    groups = list_settings(config, config.by_token, os.environ, NotificationSettings())
    now = {setting.name: setting.value for group in groups for setting in group.settings}
    with database.reading() as session:
        last = audit.newest(session, AuditAction.SETTINGS_CHANGED)
    before = last.detail if last else {}
    if now == before:
        return
    changed = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    target = ", ".join(changed) if last else "first start"
    with database.writing() as session:
        audit.record(session, audit.local_actor(), AuditAction.SETTINGS_CHANGED, target, now, now=datetime.now(UTC))
