"""Reads which jobs of GitHub Actions may sign in, and decides whether a job may."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, model_validator
from pydantic_settings import NoDecode

from service.config.access import GITHUB
from service.config.claim_patterns import matches_repository, matches_workflow
from service.config.setting_fields import ADDRESS_UNIT, BaseAddress, Words, declare_setting
from service.config.settings_from_environment import Settings
from service.errors import ServiceError


class IdentityRefused(Exception):
    """The identity was rejected; the message contains the reason in one line."""


class IssuerUnavailable(Exception):
    """The issuer's keys are not available at the moment."""


def _check_repositories(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of repositories in lower case; raise if one is not valid."""
    for name in names:
        if not re.fullmatch(r"[^/*:]+/([^/*:]+|\*)(:[0-9]+)?", name.lower()):
            prefix = f"FAULTWATCH_ACTIONS_REPOSITORIES: {name.lower()}"
            raise ServiceError("Not a repository", prefix, "Write owner/name, or owner/*.")
    return tuple(name.lower() for name in names)


def _parse_subjects(words: object) -> object:
    return tuple(map(_parse_assignment, words.replace(",", " ").split())) if isinstance(words, str) else words


def _parse_assignment(word: str) -> tuple[str, str]:
    """Return the repository and the pattern of subjects that ``owner/name=subject`` assigns to it."""
    repository, _, pattern = word.partition("=")
    if not re.fullmatch(r"[^/*:=]+/[^/*:=]+", repository) or not re.fullmatch(r"[A-Za-z0-9_.*-]{1,100}", pattern):
        prefix = f"FAULTWATCH_ACTIONS_SUBJECTS: {word}"
        raise ServiceError("An entry does not assign a subject to a repository", prefix, "Write owner/name=subject.")
    return repository.lower(), pattern


class TrustedJobs(Settings):
    """The jobs of GitHub Actions that may sign in."""

    heading, guide = "GitHub Actions jobs", "Reporting to GitHub"
    disabled_text = "No job may sign in: FAULTWATCH_ACTIONS_REPOSITORIES is not set."

    address: str = ""
    """Address at which runners reach this service; empty if unknown."""
    repositories: Annotated[Words, AfterValidator(_check_repositories)] = declare_setting(
        "FAULTWATCH_ACTIONS_REPOSITORIES", "Repositories", default_text="none: no job may sign in", unit="words"
    )
    """The repositories whose jobs may sign in, such as `owner/name` or `owner/*`."""
    audience: Annotated[str, AfterValidator(lambda audience: audience.rstrip("/"))] = declare_setting(
        "FAULTWATCH_ACTIONS_AUDIENCE",
        "Audience",
        default_factory=lambda settings: settings["address"].rstrip("/"),
        default_text="`FAULTWATCH_ADDRESS`",
    )
    """The audience that identities must name."""
    workflows: Words = declare_setting(
        "FAULTWATCH_ACTIONS_WORKFLOWS", "Workflows", (), default_text="any", unset_text="any", unit="words"
    )
    """The workflows whose jobs may sign in."""
    runners: Annotated[Words, AfterValidator(lambda runners: runners or ("self-hosted",))] = declare_setting(
        "FAULTWATCH_ACTIONS_RUNNERS", "Runners", ("self-hosted",), default_text="`self-hosted`", unit="words"
    )
    """The kinds of runners whose jobs may sign in."""
    issuer: BaseAddress = declare_setting(
        "FAULTWATCH_ACTIONS_ISSUER", "Issuer", GITHUB, default_text="GitHub", unit=ADDRESS_UNIT
    )
    """The issuer that signs identities."""
    subjects: Annotated[tuple[tuple[str, str], ...], NoDecode, BeforeValidator(_parse_subjects)] = declare_setting(
        "FAULTWATCH_ACTIONS_SUBJECTS",
        "Subjects",
        (),
        default_text="none",
        unit="words",
        format_shown=lambda jobs: ", ".join(map("=".join, jobs.subjects)) or "named like their repositories",
    )
    """Subjects whose name differs from their repository's: `owner/name=subject`."""
    hosts: Words = declare_setting(
        "FAULTWATCH_ACTIONS_HOSTS", "Hosts", (), default_text="any", unset_text="any", unit="words"
    )
    """The host names under which jobs may report."""

    @model_validator(mode="after")
    def _check_audience(self) -> Self:
        """Check that an audience is set, which the ID tokens of jobs have to contain."""
        if not self.audience:
            remedy = "Set it to the address at which runners reach this service."
            raise ServiceError("The ID tokens of jobs need an audience", "FAULTWATCH_ADDRESS is not set", remedy)
        return self

    @classmethod
    def read_if_enabled(cls, environment: Mapping[str, str], address: str) -> TrustedJobs | None:
        """Return the settings of the jobs that may sign in; None if no repositories are set, so that no job may.

        Raises
        ------
        ServiceError
            If a word is not valid, or no audience is set.
        """
        if not environment.get("FAULTWATCH_ACTIONS_REPOSITORIES", "").replace(",", " ").strip():
            return None
        return cls.read(environment, address=address)

    def explain_objection(self, claims: Mapping[str, Any]) -> str:
        """Return in one line why a job with an authentic identity may not sign in; empty if it may."""
        repository, owner = str(claims.get("repository", "")).lower(), str(claims.get("repository_owner", "")).lower()
        if not any(matches_repository(claims, pattern) for pattern in self.repositories):
            return f"jobs of {repository!r} may not sign in here"
        if owner != repository.partition("/")[0]:
            return f"the owner is {owner!r}, which differs from the owner in the name {repository!r}"
        workflow = str(claims.get("job_workflow_ref", ""))
        if self.workflows and not any(matches_workflow(workflow, pattern) for pattern in self.workflows):
            return f"the workflow {workflow!r} may not sign in here"
        runner = claims.get("runner_environment")
        if runner not in self.runners:
            # An older GitHub Enterprise Server does not name the kind of runner.
            kind_words = "of unknown kind" if runner is None else repr(runner)
            return f"the runner is {kind_words}, but must be {' or '.join(self.runners)}"
        return ""
