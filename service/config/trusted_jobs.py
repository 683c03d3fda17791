"""Reads which jobs of GitHub Actions may sign in, and decides whether one may. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.config.access import GITHUB
from service.config.claim_patterns import matches_repository, matches_workflow
from service.errors import ServiceError

if TYPE_CHECKING:
    from service.config.variables import ServiceVariables


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
    subjects
        Repositories, in lower case, with patterns of the subjects that are theirs beside that of their own name.
    hosts
        Patterns of the hosts as which jobs may report; None for all.
    """

    repositories: tuple[str, ...]
    audience: str
    workflows: tuple[str, ...] = ()
    runners: tuple[str, ...] = ("self-hosted",)
    issuer: str = GITHUB
    subjects: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] | None = None

    @classmethod
    def from_variables(cls, given: ServiceVariables) -> TrustedJobs | None:
        """Return the jobs that may sign in; None where no repositories are set: then no job may.

        Raises
        ------
        ServiceError
            If a word is not valid, or no audience is set.
        """
        repositories = tuple(name.lower() for name in given.actions_repositories)
        if not repositories:
            return None
        for name in repositories:
            if not re.fullmatch(r"[^/*:]+/[^/:]+(:[0-9]+)?", name):
                where = f"FAULTWATCH_ACTIONS_REPOSITORIES: {name}"
                raise ServiceError("Not a repository", where, "Name owner/name, or owner/*.")
        audience = given.actions_audience or given.address
        if not audience:
            remedy = "Set it to the address by which runners reach this service."
            raise ServiceError("Identities of jobs need an audience", "FAULTWATCH_ADDRESS is not set", remedy)
        return cls(
            repositories=repositories,
            audience=audience.rstrip("/"),
            workflows=given.actions_workflows,
            runners=given.actions_runners or ("self-hosted",),
            issuer=given.actions_issuer.rstrip("/"),
            subjects=tuple(map(_assignment, given.actions_subjects)),
            hosts=given.actions_hosts or None,
        )

    def objection(self, claims: Mapping[str, Any]) -> str:
        """Return in one line why a job with a genuine identity may not sign in; empty where it may."""
        repository, owner = str(claims.get("repository", "")).lower(), str(claims.get("repository_owner", "")).lower()
        if not any(matches_repository(claims, wanted) for wanted in self.repositories):
            return f"jobs of {repository!r} may not sign in here"
        if owner != repository.partition("/")[0]:
            return f"the owner is {owner!r}"
        workflow = str(claims.get("job_workflow_ref", ""))
        if self.workflows and not any(matches_workflow(workflow, wanted) for wanted in self.workflows):
            return f"the workflow {workflow!r} may not sign in here"
        runner = claims.get("runner_environment")
        if runner not in self.runners:
            return f"the runner is {runner!r}, but has to be {' or '.join(self.runners)}"
        return ""


def _assignment(word: str) -> tuple[str, str]:
    repository, _, pattern = word.partition("=")
    if not re.fullmatch(r"[^/*:=]+/[^/*:=]+", repository) or not re.fullmatch(r"[A-Za-z0-9_.*-]{1,100}", pattern):
        where = f"FAULTWATCH_ACTIONS_SUBJECTS: {word}"
        raise ServiceError("Not a subject of a repository", where, "Write owner/name=subject.")
    return repository.lower(), pattern
