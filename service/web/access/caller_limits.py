"""Restricts a caller to the limits of its token, and a job of GitHub Actions to what its own repository owns."""

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
    """Refuse a report beyond the caller's limits. A subject without an owner then belongs to the caller's repository.

    Parameters
    ----------
    subjects
        What the request is about.
    hosts
        The names of the hosts that the request reports for, or will measure on.
    read_only
        Whether the request only reads: no subject changes its owner.

    Raises
    ------
    ProblemError
        403, where a host or a subject is beyond the token's limits, or a subject is another repository's.
    """
    repository, limits = find_caller().repository, find_caller().limits
    names = {name for name in subjects if name is not None}
    _require_coverage("host", hosts, limits.hosts)
    if repository is None:  # The caller is no job of GitHub Actions: only the limits of its token count.
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
        # Again: another job may have reported meanwhile.
        if foreign_owners := ownership.map_foreign_owners(session, repository, names, limits.subjects):
            raise make_refusal(repository, _describe_foreign_subject(foreign_owners))
        ownership.claim_subjects(session, repository, names)


def require_access_to_subject(subject: str, host: str | None) -> None:
    """Refuse a job about a subject, or for a host, beyond the limits of the caller's token.

    The subjects of a job of GitHub Actions are not checked here: :func:`require_own_job` checks its repository.

    Parameters
    ----------
    host
        The only host that may run it; None for any, for which a token that is limited to hosts does not suffice.

    Raises
    ------
    ProblemError
        403.
    """
    limits = find_caller().limits
    if find_caller().repository is None:
        _require_coverage("subject", [subject], limits.subjects)
    if host is None and limits.hosts is not None:
        allowed = " ".join(limits.hosts)
        raise ProblemError(HTTPStatus.FORBIDDEN, f"Your token is limited to {allowed}: specify the job's host.")
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
    """Return which subject belongs to somebody else."""
    name, owner = next(iter(foreign_owners.items()))
    if owner is not None:
        return f"the subject {name} belongs to {owner}"
    return f"the subject {name} does not belong to this repository (FAULTWATCH_ACTIONS_SUBJECTS assigns subjects)"


def require_own_nightly_run(name: str) -> str | None:
    """Refuse a report about another repository's nightly run; return the caller's repository, None if it has none.

    A nightly run that is not known yet then belongs to that repository.
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
        To which the job was dispatched.

    Raises
    ------
    ProblemError
        403, where the caller is a job of GitHub Actions of another repository.
    """
    own_repository = find_caller().repository
    if own_repository is not None and own_repository != repository:
        raise make_refusal(own_repository, "the job was not dispatched to this repository")


def require_access_to_repository(repository: str) -> None:
    """Refuse to register runners for a repository that the caller's token does not name.

    Raises
    ------
    ProblemError
        403, where it names others.
    """
    _require_coverage("repository", [repository], find_caller().limits.repositories)


def require_access_to_publication(repository: str) -> None:
    """Refuse to publish about a repository, or to start a workflow in it, beyond the caller's limits.

    Parameters
    ----------
    repository
        With its forge, as :mod:`service.forges.qualified_names` writes it.

    Raises
    ------
    ProblemError
        403, where the caller is a job of another repository, or its token is limited and does not name this one.
    """
    own_repository, limits = find_caller().repository, find_caller().limits
    if own_repository is not None and repository.lower() != own_repository:
        raise make_refusal(own_repository, f"{repository} is another repository")
    if own_repository is None and not limits.includes(repository):
        allowed_clause = f"only {' '.join(limits.repositories)}" if limits.repositories else "or any other repository"
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            f"Your token is limited and does not cover the repository {repository}, {allowed_clause}: create a token "
            f"with --repository {repository}.",
        )


def make_refusal(repository: str, reason: str) -> ProblemError:
    """Return the problem that a job asks for something outside its repository."""
    return ProblemError(HTTPStatus.FORBIDDEN, f"Your token belongs to a job of {repository}: {reason}.")
