"""Restricts a job of GitHub Actions to the subjects, nightly runs and jobs of its own repository."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from service.store import ownership
from service.web.access.guard import caller
from service.web.current import database
from service.web.problems import ProblemError


def hold(subjects: Iterable[str | None], *, asking: bool = False) -> None:
    """Refuse a report about subjects of another repository; a subject without an owner becomes the caller's.

    Parameters
    ----------
    subjects
        What the request is about.
    asking
        Whether the request only reads: no subject changes its owner.

    Raises
    ------
    ProblemError
        403, where a subject is another repository's.
    """
    repository, names = caller().repository, {name for name in subjects if name is not None}
    if repository is None or not names:
        return
    with database().writing() as session:
        foreign = ownership.foreign(session, repository, names)
        if foreign:
            name, owner = next(iter(foreign.items()))
            raise refusal(repository, f"the subject {name} is that of {owner}")
        if not asking:
            ownership.claim(session, repository, names)


def hold_night(name: str) -> str | None:
    """Refuse a report about another repository's nightly run; return the repository that owns it."""
    repository = caller().repository
    if repository is not None:
        with database().reading() as session:
            there, owner = ownership.of_night(session, name)
        if there and owner != repository:
            raise refusal(repository, f"the night {name} is not its own")
    return repository


def hold_job(repository: str | None) -> None:
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
    own = caller().repository
    if own is not None and own != repository:
        raise ProblemError(HTTPStatus.FORBIDDEN, f"Your token is that of a job of {own}.")


def refusal(repository: str, why: str) -> ProblemError:
    """Return the problem that a job reaches beyond its repository."""
    return ProblemError(HTTPStatus.FORBIDDEN, f"Your token is that of a job of {repository}: {why}.")
