"""The settings of a service: the values in use and where each comes from, without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from service.config.database_address import parse
from service.config.github_app import GithubSettings
from service.config.notifications import CHATS, FILE, ChatChannel, EmailChannel, NotificationSettings, WebhookChannel
from service.config.settings import IDLE, LEASE, LOOPBACK, NARROWING_RUNS, SESSION_KEY, Config
from service.config.token_forges import FORGEJO, GITLAB, TokenForge, Variables
from service.config.trusted_jobs import TrustedJobs
from service.config.variables import Group, Variable, table

DEFAULT, ENVIRONMENT, AT_THE_START = "default", "environment", "given at the start"
_SECRET = "set, and never shown"  # noqa: S105 - shown in place of one
_HIDDEN = "***"
GUIDES = {
    Group.SERVICE: "Who may do what",
    Group.APP: "Reporting to GitHub",
    Group.GITLAB: "Reporting to GitLab and Forgejo",
    Group.FORGEJO: "Reporting to GitLab and Forgejo",
    Group.JOBS: "Reporting to GitHub",
    Group.NOTIFICATIONS: "Notifications",
}


class Setting(BaseModel):
    """One value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    variable: str
    """The environment variable that sets it; empty for a value that only a file can set."""
    value: str
    source: str
    """``default``, ``environment``, ``given at the start`` (by an option of the command), or the path of a file."""
    meaning: str


class SettingGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    document: str
    """Title of the guide that describes them."""
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
    values = _service(config, by_token) | _app(config.github) | _jobs(config.jobs)
    values |= _token_forge(GITLAB, config.gitlab) | _token_forge(FORGEJO, config.forgejo)
    groups: dict[Group, list[Setting]] = {group: [] for group in Group}
    for variable in table():
        if variable.name in values:
            groups[variable.group].append(_setting(variable, *values[variable.name], environment))
    notes = {
        Group.APP: "The service is no GitHub App: FAULTWATCH_GITHUB_APP is not set.",
        Group.GITLAB: "FAULTWATCH_GITLAB_URL is not set.",
        Group.FORGEJO: "FAULTWATCH_FORGEJO_URL is not set.",
        Group.JOBS: "No job may sign in: FAULTWATCH_ACTIONS_REPOSITORIES is not set.",
        Group.NOTIFICATIONS: "",
    }
    if isinstance(channels, NotificationSettings):
        groups[Group.NOTIFICATIONS] += _channels(config, environment, channels)
    else:
        notes[Group.NOTIFICATIONS] = channels
        groups[Group.NOTIFICATIONS] = []
    return [
        SettingGroup(title=group, document=GUIDES[group], empty=notes.get(group, ""), settings=settings)
        for group, settings in groups.items()
    ]


def _setting(variable: Variable, value: str, is_default: bool, environment: Mapping[str, str]) -> Setting:
    source = ENVIRONMENT if environment.get(variable.name) else DEFAULT if is_default else AT_THE_START
    if variable.name.endswith("_FILE"):
        source = environment.get(variable.name) or (DEFAULT if is_default else AT_THE_START)
    meaning = variable.meaning.replace("`", "")
    return Setting(name=variable.title, variable=variable.name, value=value, source=source, meaning=meaning)


_Values = dict[str, tuple[str, bool]]
"""By variable: the value in use, and whether it is the default."""


def _service(config: Config, by_token: bool) -> _Values:
    names = "any" if config.trusted_hosts is None else ", ".join(config.trusted_hosts)
    own_file = config.database_url == f"sqlite:///{config.home / 'faultwatch.db'}"
    return {
        "FAULTWATCH_HOME": (str(config.home), True),
        "DATABASE_URL": (_without_password(config.database_url), own_file),
        "FAULTWATCH_PORT": (str(config.port), config.port == 8080),
        "FAULTWATCH_NAMES": (names, config.trusted_hosts == LOOPBACK),
        "FAULTWATCH_ACCESS": (
            "by token" if by_token else "open: whoever reaches it may do everything",
            config.access is None,
        ),
        "FAULTWATCH_ANONYMOUS_READ": (_yes_or_no(config.anonymous_read), not config.anonymous_read),
        "FAULTWATCH_WORKERS": (str(config.workers), config.workers == 1),
        "FAULTWATCH_JOBS_HERE": (_yes_or_no(config.starts_jobs), config.jobs_here is None),
        "FAULTWATCH_HOST": (config.host, True),
        "FAULTWATCH_LEASE_SECONDS": (f"{config.lease.total_seconds():.0f} s", config.lease == LEASE),
        "FAULTWATCH_NARROWING_RUNS": (f"{config.narrowing_runs:,}", config.narrowing_runs == NARROWING_RUNS),
        "FAULTWATCH_IDLE_SECONDS": (f"{config.idle.total_seconds():.0f} s", config.idle == IDLE),
        "FAULTWATCH_PROXIES": (", ".join(config.proxies) or "on this machine", not config.proxies),
        "FAULTWATCH_SESSION_KEY_FILE": (
            _SECRET if config.session_key else str(config.home / SESSION_KEY),
            config.session_key is None,
        ),
        "FAULTWATCH_NOTIFICATIONS": (str(config.notifications or config.home / FILE), not config.notifications),
        "FAULTWATCH_ADDRESS": (config.address or "none", not config.address),
    }


def _app(settings: GithubSettings | None) -> _Values:
    if settings is None:
        return {}
    return {
        "FAULTWATCH_GITHUB_APP": (str(settings.app_id), False),
        "FAULTWATCH_GITHUB_KEY_FILE": (_SECRET, False),
        "FAULTWATCH_GITHUB_SECRET_FILE": (_SECRET, False),
        "FAULTWATCH_GITHUB_API": (settings.api, settings.api == GithubSettings.api),
        "FAULTWATCH_GITHUB_WORKFLOW": (settings.workflow, settings.workflow == GithubSettings.workflow),
    }


def _token_forge(names: Variables, settings: TokenForge | None) -> _Values:
    if settings is None:
        return {}
    return {
        names.url: (settings.url, False),
        names.token_file: (_SECRET, False),
        names.secret_file: (_SECRET, False),
    }


def _jobs(trusted: TrustedJobs | None) -> _Values:
    if trusted is None:
        return {}
    words: dict[str, tuple[str, ...]] = {
        "REPOSITORIES": trusted.repositories,
        "AUDIENCE": (trusted.audience,),
        "WORKFLOWS": trusted.workflows or ("any",),
        "RUNNERS": trusted.runners,
        "ISSUER": (trusted.issuer,),
        "SUBJECTS": tuple(map("=".join, trusted.subjects)) or ("of the same name",),
        "HOSTS": trusted.hosts or ("any",),
    }
    return {f"FAULTWATCH_ACTIONS_{name}": (", ".join(values), True) for name, values in words.items()}


def _channels(config: Config, environment: Mapping[str, str], settings: NotificationSettings) -> Iterator[Setting]:
    file = str(config.notifications or config.home / FILE)
    source = file if settings != NotificationSettings() else DEFAULT

    def one(name: str, value: str, source: str, meaning: str) -> Setting:
        return Setting(name=name, variable="", value=value, source=source, meaning=meaning)

    yield one("Address in messages", settings.url, source, "Where their links lead.")
    for channel in settings.channel:
        yield one(channel.name, _channel(channel, environment), file, f"A channel: {channel.kind}.")


def _channel(channel: EmailChannel | ChatChannel | WebhookChannel, environment: Mapping[str, str]) -> str:
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
    elif isinstance(channel, ChatChannel):
        variable = channel.url_variable
        chat = CHATS.get(urlsplit(channel.url).scheme) if channel.url else None  # its host may be a secret
        where = f"by {chat.name}" if chat else "at an address that is kept secret"
    else:
        variable = channel.url_variable
        where = f"at {urlsplit(channel.url).hostname}" if channel.url else "at an address that is kept secret"
    if variable is not None:
        said.append(f"{variable} is {_SECRET if environment.get(variable) else 'not set'}")
    return "; ".join([where, *said])


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _without_password(address: str) -> str:
    url = parse(address)
    query = {name: _HIDDEN if "pass" in name.lower() else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=True)
