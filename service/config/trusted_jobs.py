"""Reads which jobs of GitHub Actions may sign in, and decides whether one may. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from service.errors import ServiceError

GITHUB = "https://token.actions.githubusercontent.com"
"""The issuer of the identities of GitHub's own jobs."""
_NAME = "FAULTWATCH_ACTIONS_"


class IdentityRefused(Exception):
    """The identity is refused; the message says why in one line."""


class IssuerUnavailable(Exception):
    """The issuer's keys are not available at the moment."""


@dataclass(frozen=True, slots=True)
class TrustedJobs:
    """The jobs that may sign in.

    Attributes
    ----------
    repositories
        Names such as ``octo-org/copies``, or ``octo-org/*`` for all repositories of an owner; in lower case.
    audience
        The audience that an identity must name: the address of this service.
    workflows
        Patterns for ``job_workflow_ref``, with ``*`` for anything; empty for any workflow.
    runners
        Kinds of runners: ``self-hosted``, ``github-hosted``.
    issuer
        Who signs the identities.
    """

    repositories: tuple[str, ...]
    audience: str
    workflows: tuple[str, ...] = ()
    runners: tuple[str, ...] = ("self-hosted",)
    issuer: str = GITHUB

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> TrustedJobs | None:
        """Read FAULTWATCH_ACTIONS_REPOSITORIES, _AUDIENCE, _WORKFLOWS, _RUNNERS and _ISSUER.

        Return None where no repositories are set: then no job may sign in.
        """

        def words(name: str) -> tuple[str, ...]:
            return tuple((environment.get(f"{_NAME}{name}") or "").replace(",", " ").split())

        repositories = tuple(name.lower() for name in words("REPOSITORIES"))
        if not repositories:
            return None
        for name in repositories:
            if name.count("/") != 1 or "*" in name.partition("/")[0]:
                raise ServiceError("Not a repository", f"{_NAME}REPOSITORIES: {name}", "Name owner/name, or owner/*.")
        audience = environment.get(f"{_NAME}AUDIENCE") or environment.get("FAULTWATCH_ADDRESS")
        if not audience:
            remedy = "Set it to the address by which runners reach this service."
            raise ServiceError("Identities of jobs need an audience", "FAULTWATCH_ADDRESS is not set", remedy)
        return cls(
            repositories=repositories,
            audience=audience.rstrip("/"),
            workflows=words("WORKFLOWS"),
            runners=words("RUNNERS") or ("self-hosted",),
            issuer=(environment.get(f"{_NAME}ISSUER") or GITHUB).rstrip("/"),
        )

    def objection(self, claims: Mapping[str, Any]) -> str:
        """Return in one line why a job with a genuine identity may not sign in; empty where it may."""
        repository, owner = str(claims.get("repository", "")).lower(), str(claims.get("repository_owner", "")).lower()
        if not any(_matches(repository, pattern) for pattern in self.repositories):
            return f"jobs of {repository!r} may not sign in here"
        if owner != repository.partition("/")[0]:
            return f"the owner is {owner!r}"
        workflow = str(claims.get("job_workflow_ref", ""))
        if self.workflows and not any(fnmatchcase(workflow, pattern) for pattern in self.workflows):
            return f"the workflow {workflow!r} may not sign in here"
        runner = claims.get("runner_environment")
        if runner not in self.runners:
            return f"the runner is {runner!r}, but has to be {' or '.join(self.runners)}"
        return ""


def _matches(repository: str, pattern: str) -> bool:
    owner, _, name = pattern.partition("/")
    return repository.startswith(f"{owner}/") if name == "*" else repository == pattern
