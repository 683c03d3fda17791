"""Holds a job of GitHub Actions to its own repository: it reports of that one's subjects, and of nobody else's."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from service.store import ownership
from service.web.access.guard import caller
from service.web.current import database
from service.web.problems import ProblemError


def hold(subjects: Iterable[str | None], *, asking: bool = False) -> None:
    """Refuse a job that tells of what is not its repository's; what is nobody's yet becomes its own.

    Parameters
    ----------
    subjects
        What it tells of.
    asking
        It asks only: nothing becomes its own.

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
    """Refuse a job that tells of another repository's night; return whose it is to be."""
    repository = caller().repository
    if repository is not None:
        with database().reading() as session:
            there, owner = ownership.of_night(session, name)
        if there and owner != repository:
            raise refusal(repository, f"the night {name} is not its own")
    return repository


def refusal(repository: str, why: str) -> ProblemError:
    """Return what a job is told that goes beyond its repository."""
    return ProblemError(HTTPStatus.FORBIDDEN, f"Your token is that of a job of {repository}: {why}.")
