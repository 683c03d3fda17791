"""Restricts callers to the limits of their tokens, and GitHub Actions jobs to what their own repository owns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from service.rules.access.token_limits import Patterns, matches_any_pattern
from service.store import ownership
from service.web.access.authorization import find_caller
from service.web.app_resources import get_database
from service.web.problems import ProblemError


def require_access_to_report(
    subjects: Iterable[str | None], hosts: Iterable[str] = (), *, read_only: bool = False
) -> None:
    """Refuse a report beyond the caller's limits; assign subjects without an owner to the caller's repository.

    Parameters
    ----------
    subjects
        The subjects that the request is about.
    hosts
        The names of the hosts that measured the report, or will measure for the request.
    read_only
        Whether the request only reads, so that no subject gets an owner.

    Raises
    ------
    ProblemError
        403, where the token does not cover a host or a subject, or a subject belongs to another repository.
    """
    repository, limits = find_caller().repository, find_caller().limits
    names = {name for name in subjects if name is not None}
    _require_coverage("host", hosts, limits.hosts)
    if repository is None:  # The caller is not a GitHub Actions job: only the limits of its token count.
        _require_coverage("subject", names, limits.subjects)
        return
    if not names:
        return
    with get_database().reading() as session:
        foreign_owners = ownership.map_foreign_owners(session, repository, names, limits.subjects)
    if foreign_owners:
        raise make_refusal(repository, _describe_foreign_subject(foreign_owners))
    if read_only:
        return
    with get_database().writing() as session:
        # Checked once more: since the read above, another job may have become the owner.
        if foreign_owners := ownership.map_foreign_owners(session, repository, names, limits.subjects):
            raise make_refusal(repository, _describe_foreign_subject(foreign_owners))
        ownership.claim_subjects(session, repository, names)


def require_access_to_subject(subject: str, host: str | None) -> None:
    """Refuse a job whose subject or host the caller's token does not cover.

    For a caller that is a GitHub Actions job, the subject is not checked here: :func:`require_own_job` checks the
    repository instead.

    Parameters
    ----------
    host
        The only host that may run the job; None for any host, which a token that is limited to hosts does not allow.

    Raises
    ------
    ProblemError
        403, where the limits do not cover the subject or the host.
    """
    limits = find_caller().limits
    if find_caller().repository is None:
        _require_coverage("subject", [subject], limits.subjects)
    if host is None and limits.hosts is not None:
        allowed = " ".join(limits.hosts)
        raise ProblemError(HTTPStatus.FORBIDDEN, f"Your token covers only the hosts {allowed}: specify the job's host.")
    _require_coverage("host", [host] if host is not None else [], limits.hosts)


def _require_coverage(kind: str, names: Iterable[str], patterns: Patterns | None) -> None:
    """Refuse names that the patterns of the caller's token do not cover."""
    uncovered_name = next((name for name in names if not matches_any_pattern(name, patterns)), None)
    if uncovered_name is not None:
        allowed_patterns = " ".join(patterns or ())
        raise ProblemError(
            HTTPStatus.FORBIDDEN, f"Your token does not cover the {kind} {uncovered_name}, only {allowed_patterns}."
        )


def _describe_foreign_subject(foreign_owners: Mapping[str, str | None]) -> str:
    """Return a clause about the first subject that is not the caller's: its owner, or how it gets one."""
    name, owner = next(iter(foreign_owners.items()))
    if owner is not None:
        return f"the subject {name} belongs to {owner}"
    return f"the subject {name} does not belong to this repository; FAULTWATCH_ACTIONS_SUBJECTS can assign it"


def require_own_nightly_run(name: str) -> str | None:
    """Refuse a report about another repository's nightly run; return the caller's repository.

    The caller stores the returned repository as the owner of a nightly run that is not known yet. It is None for a
    caller that is not a GitHub Actions job.

    Raises
    ------
    ProblemError
        403, if the nightly run belongs to another repository.
    """
    repository = find_caller().repository
    if repository is not None:
        with get_database().reading() as session:
            exists, owner = ownership.find_owner_of_nightly_run(session, name)
        if exists and owner != repository:
            raise make_refusal(repository, f"the nightly run {name} does not belong to this repository")
    return repository


def require_own_job(repository: str | None) -> None:
    """Refuse to change a job that was not dispatched to the caller's repository.

    Parameters
    ----------
    repository
        The repository to which the job was dispatched.

    Raises
    ------
    ProblemError
        403, where the caller is a GitHub Actions job of another repository.
    """
    own_repository = find_caller().repository
    if own_repository is not None and own_repository != repository:
        raise make_refusal(own_repository, "the job was not dispatched to this repository")


def require_access_to_repository(repository: str) -> None:
    """Refuse to register runners for a repository that the caller's token does not cover.

    Raises
    ------
    ProblemError
        403, where the token is limited to other repositories.
    """
    _require_coverage("repository", [repository], find_caller().limits.repositories)


def require_access_to_publication(repository: str) -> None:
    """Refuse to publish about a repository, or to start a workflow in it, beyond the caller's limits.

    Parameters
    ----------
    repository
        The repository's name with its forge, as :mod:`service.forges.qualified_names` writes it.

    Raises
    ------
    ProblemError
        403, where the caller is a job of another repository, or has a limited token that does not cover this one.
    """
    own_repository, limits = find_caller().repository, find_caller().limits
    if own_repository is not None and repository.lower() != own_repository:
        raise make_refusal(own_repository, f"{repository} is another repository")
    if own_repository is None and not limits.may_publish_about(repository):
        covered = f"only {' '.join(limits.repositories)}" if limits.repositories else "no repository"
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            f"Your token does not cover the repository {repository}: it covers {covered}. "
            f"Create a token with `--repository {repository}`.",
        )


def make_refusal(repository: str, reason: str) -> ProblemError:
    """Return the problem of a GitHub Actions job that requests something outside its repository."""
    return ProblemError(HTTPStatus.FORBIDDEN, f"Your token belongs to a job of {repository}: {reason}.")
