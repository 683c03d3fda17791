"""The environment variables of the service: one table with types, defaults, units and meanings.

Reading, ``faultwatch-service config``, the page of settings and the reference are made from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from service.config.access import GITHUB, Access
from service.errors import ServiceError


class Group(StrEnum):
    """What a variable is about; the title of its table."""

    SERVICE = "Service"
    APP = "GitHub App"
    GITLAB = "GitLab"
    FORGEJO = "Forgejo"
    JOBS = "Jobs of GitHub Actions"
    NOTIFICATIONS = "Notifications"


def _words(text: object) -> object:
    return tuple(text.replace(",", " ").split()) if isinstance(text, str) else text


def _yes_or_no(text: object) -> object:
    if isinstance(text, str):
        if text not in {"yes", "no"}:
            raise ValueError("write yes or no")
        return text == "yes"
    return text


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
"""Separated by commas or spaces."""
YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no)]


def _variable(
    name: str, group: Group, title: str, meaning: str, default: Any = None, *, usual: str = "", unit: str = ""
) -> Any:
    """Declare a variable.

    Parameters
    ----------
    usual
        The default in words, where it is not a value.
    unit
        Unit of the value, and what it may be.
    """
    extra: dict[str, Any] = {"group": group, "usual": usual, "unit": unit}
    return Field(default=default, validation_alias=name, title=title, description=meaning, json_schema_extra=extra)


class ServiceVariables(BaseSettings):
    """The values of the environment variables. An empty variable counts as one that is not set."""

    model_config = SettingsConfigDict(case_sensitive=True, env_ignore_empty=True, frozen=True, extra="ignore")

    home: Path = _variable(
        "FAULTWATCH_HOME", Group.SERVICE, "Home", "The folder of all data.", Path("~/.local/share/faultwatch")
    )
    database_url: str | None = _variable(
        "DATABASE_URL",
        Group.SERVICE,
        "Database",
        "The database: `postgresql://user:password@host/name`, or `sqlite:////path/to/file.db`.",
        usual="SQLite in `FAULTWATCH_HOME`",
    )
    port: Annotated[int, Field(ge=0, le=65535)] = _variable(
        "FAULTWATCH_PORT", Group.SERVICE, "Port", "The TCP port; 0 for any free one.", 8080, unit="a number, 0 to 65535"
    )
    names: Words = _variable(
        "FAULTWATCH_NAMES",
        Group.SERVICE,
        "Names",
        "The names by which the service may be called. Requests for another name are refused.",
        (),
        usual="loopback's",
        unit="words",
    )
    access: Access | None = _variable(
        "FAULTWATCH_ACCESS",
        Group.SERVICE,
        "Access",
        "Whether callers need a token.",
        usual="`tokens` if the service has a name other than loopback's",
        unit="`open` or `tokens`",
    )
    anonymous_read: YesOrNo = _variable(
        "FAULTWATCH_ANONYMOUS_READ",
        Group.SERVICE,
        "Anonymous reading",
        "Whether callers without a token see the results.",
        False,
        unit="`yes` or `no`",
    )
    workers: Annotated[int, Field(ge=1, le=64)] = _variable(
        "FAULTWATCH_WORKERS", Group.SERVICE, "Processes", "Number of serving processes.", 1, unit="a number, 1 to 64"
    )
    jobs_here: YesOrNo | None = _variable(
        "FAULTWATCH_JOBS_HERE",
        Group.SERVICE,
        "Jobs here",
        "Whether this machine carries out jobs.",
        usual="`yes` if no tokens are required",
        unit="`yes` or `no`",
    )
    host: str | None = _variable(
        "FAULTWATCH_HOST",
        Group.SERVICE,
        "Host",
        "The name of this machine in the reports of its jobs.",
        usual="the host name",
    )
    lease_seconds: Annotated[int, Field(ge=1, le=86_400)] = _variable(
        "FAULTWATCH_LEASE_SECONDS",
        Group.SERVICE,
        "Lease",
        "For how long a silent runner keeps its job.",
        90,
        unit="a number of seconds, 1 to 86400",
    )
    narrowing_runs: Annotated[int, Field(ge=1, le=100_000)] = _variable(
        "FAULTWATCH_NARROWING_RUNS",
        Group.SERVICE,
        "Runs that narrow ranges",
        "How many runs within 24 hours the service has measured by itself to find the commits of drifts, for each "
        "subject whose policy is `do`.",
        200,
        unit="a number, 1 to 100000",
    )
    idle_seconds: Annotated[int, Field(ge=1, le=86_400)] = _variable(
        "FAULTWATCH_IDLE_SECONDS",
        Group.SERVICE,
        "Idle after",
        "After how long without a new run a host counts as idle, so that the service may order work by itself.",
        120,
        unit="a number of seconds, 1 to 86400",
    )
    proxies: Words = _variable(
        "FAULTWATCH_PROXIES",
        Group.SERVICE,
        "Proxies",
        "Addresses of the proxies, other than those on this machine, that say for whom they ask.",
        (),
        usual="none",
        unit="words",
    )
    session_key_file: Path | None = _variable(
        "FAULTWATCH_SESSION_KEY_FILE",
        Group.SERVICE,
        "Session key",
        "The file with the key that signs the cookies of browsers. Machines with one database need the same one.",
        usual="`session.key` in `FAULTWATCH_HOME`, which the service makes",
    )
    address: str = _variable(
        "FAULTWATCH_ADDRESS",
        Group.SERVICE,
        "Address",
        "The address at which people and runners reach the service, for links.",
        "",
        usual="none",
    )
    notifications: Path | None = _variable(
        "FAULTWATCH_NOTIFICATIONS",
        Group.NOTIFICATIONS,
        "File of channels",
        "The file with the notification channels.",
        usual="`notifications.toml` in `FAULTWATCH_HOME`",
    )
    github_app: Annotated[int, Field(ge=0)] | None = _variable(
        "FAULTWATCH_GITHUB_APP",
        Group.APP,
        "App",
        "The App's number.",
        usual="none: the GitHub features are off",
        unit="a number",
    )
    github_key_file: Path | None = _variable(
        "FAULTWATCH_GITHUB_KEY_FILE",
        Group.APP,
        "Private key",
        "The file with the App's private key.",
        usual="required for an App",
    )
    github_secret_file: Path | None = _variable(
        "FAULTWATCH_GITHUB_SECRET_FILE",
        Group.APP,
        "Webhook secret",
        "The file with the secret with which GitHub signs webhooks.",
        usual="required for an App",
    )
    github_api: str = _variable(
        "FAULTWATCH_GITHUB_API", Group.APP, "API", "The address of GitHub's API.", "https://api.github.com"
    )
    github_workflow: str = _variable(
        "FAULTWATCH_GITHUB_WORKFLOW",
        Group.APP,
        "Workflow",
        "The repository's workflow that measures a pull request.",
        "faultwatch.yml",
    )
    gitlab_url: str | None = _variable(
        "FAULTWATCH_GITLAB_URL",
        Group.GITLAB,
        "GitLab address",
        "The address of GitLab.",
        usual="none: its features are off",
    )
    gitlab_token_file: Path | None = _variable(
        "FAULTWATCH_GITLAB_TOKEN_FILE",
        Group.GITLAB,
        "GitLab token",
        "The file with the token of the user as which the service writes.",
        usual="required with the address",
    )
    gitlab_secret_file: Path | None = _variable(
        "FAULTWATCH_GITLAB_SECRET_FILE",
        Group.GITLAB,
        "GitLab webhook secret",
        "The file with the secret by which webhooks are proven.",
        usual="required with the address",
    )
    forgejo_url: str | None = _variable(
        "FAULTWATCH_FORGEJO_URL",
        Group.FORGEJO,
        "Forgejo address",
        "The address of Forgejo or Gitea.",
        usual="none: its features are off",
    )
    forgejo_token_file: Path | None = _variable(
        "FAULTWATCH_FORGEJO_TOKEN_FILE",
        Group.FORGEJO,
        "Forgejo token",
        "The file with the token of the user as which the service writes.",
        usual="required with the address",
    )
    forgejo_secret_file: Path | None = _variable(
        "FAULTWATCH_FORGEJO_SECRET_FILE",
        Group.FORGEJO,
        "Forgejo webhook secret",
        "The file with the secret by which webhooks are proven.",
        usual="required with the address",
    )
    actions_repositories: Words = _variable(
        "FAULTWATCH_ACTIONS_REPOSITORIES",
        Group.JOBS,
        "Repositories",
        "The repositories whose jobs may sign in, such as `owner/name` or `owner/*`.",
        (),
        usual="none: no job may",
        unit="words",
    )
    actions_audience: str | None = _variable(
        "FAULTWATCH_ACTIONS_AUDIENCE",
        Group.JOBS,
        "Audience",
        "The audience that identities must name.",
        usual="`FAULTWATCH_ADDRESS`",
    )
    actions_workflows: Words = _variable(
        "FAULTWATCH_ACTIONS_WORKFLOWS",
        Group.JOBS,
        "Workflows",
        "The workflows whose jobs may sign in.",
        (),
        usual="any",
        unit="words",
    )
    actions_runners: Words = _variable(
        "FAULTWATCH_ACTIONS_RUNNERS",
        Group.JOBS,
        "Runners",
        "The kinds of runners whose jobs may sign in.",
        ("self-hosted",),
        usual="`self-hosted`",
        unit="words",
    )
    actions_issuer: str = _variable(
        "FAULTWATCH_ACTIONS_ISSUER", Group.JOBS, "Issuer", "Who signs identities.", GITHUB, usual="GitHub"
    )
    actions_subjects: Words = _variable(
        "FAULTWATCH_ACTIONS_SUBJECTS",
        Group.JOBS,
        "Subjects",
        "Subjects of other names than their repository: `owner/name=subject`.",
        (),
        usual="none",
        unit="words",
    )
    actions_hosts: Words = _variable(
        "FAULTWATCH_ACTIONS_HOSTS",
        Group.JOBS,
        "Hosts",
        "The hosts as which jobs may report.",
        (),
        usual="any",
        unit="words",
    )


class Variable(NamedTuple):
    """What the table says about a variable.

    Attributes
    ----------
    name
        Of the variable.
    group
        What it is about.
    title
        In a word or two.
    meaning
        One or two sentences, in Markdown.
    default
        What holds if the variable is not set, in Markdown.
    unit
        Unit of the value, and what it may be; empty for any text.
    """

    name: str
    group: Group
    title: str
    meaning: str
    default: str
    unit: str


def table() -> Iterator[Variable]:
    """Return every variable, in the order of the groups."""
    fields = ServiceVariables.model_fields.values()
    for group in Group:
        yield from (_described(field) for field in fields if _extra(field)["group"] is group)


def read_variables(environment: Mapping[str, str] = os.environ) -> ServiceVariables:
    """Read the variables.

    Raises
    ------
    ServiceError
        If a value is not valid. The message names the variable, and contains no value that may be a secret.
    """
    source = EnvSettingsSource(ServiceVariables, case_sensitive=True, env_ignore_empty=True)
    source.env_vars = {name: value for name, value in environment.items() if value}
    try:
        return ServiceVariables(_build_sources=((source,), {}))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = str(problem["loc"][0])
        variable = next(one for one in table() if one.name == name)
        valid = variable.unit.replace("`", "") or "a valid value"
        raise ServiceError(
            "A setting is not valid", f"{name}={problem['input']}", f"Set it to {valid}, or unset it."
        ) from None


def _described(field: FieldInfo) -> Variable:
    extra = _extra(field)
    default = {True: "yes", False: "no"}.get(field.default, field.default) if extra["unit"] else field.default
    return Variable(
        str(field.validation_alias),
        Group(extra["group"]),
        field.title or "",
        field.description or "",
        str(extra["usual"]) or f"`{default}`",
        str(extra["unit"]),
    )


def _extra(field: FieldInfo) -> dict[str, Any]:
    assert isinstance(field.json_schema_extra, dict)
    return field.json_schema_extra
