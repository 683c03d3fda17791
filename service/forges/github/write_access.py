"""A comment or a label is a command only if its author has write access to the repository.

Otherwise nothing happens, except that a comment gets the reaction -1.
"""

from __future__ import annotations

from github import GithubException
from github.Repository import Repository

from service.forges.webhook_actions import MeasureBranch, RepositoryAction

_WRITER_ROLES = frozenset({"admin", "maintain", "write"})
"""The roles with write access. The right to set labels (role triage) is not enough."""


def may_act(repository: Repository, action: RepositoryAction) -> bool:
    """Return whether the user who asked for an action has write access; True if no user asked for it."""
    author = None if isinstance(action, MeasureBranch) else action.author
    return author is None or _has_write_access(repository, author)


def _has_write_access(repository: Repository, login: str) -> bool:
    """Return whether a user may push to a repository; False if GitHub does not know the user.

    Raises
    ------
    GithubException
        GitHub does not answer, or refuses the request.
    """
    try:
        return repository.get_collaborator_permission(login) in _WRITER_ROLES
    except GithubException as error:
        if error.status == 404:
            return False
        raise
