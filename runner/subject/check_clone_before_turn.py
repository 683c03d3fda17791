"""Checks that a clone has all parts of the requested commits, before a command waits for its turn on this host."""

from collections.abc import Iterable

from runner.contract.report import Revision
from runner.errors import FaultwatchError
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository
from runner.subject.submodules_and_lfs import IncompleteCheckout, find_missing_part
from runner.workload import Workload


def find_complete_revision(repository: Repository, workload: Workload, name: str) -> Revision:
    """Return a revision, after checking as far as possible that it can be checked out.

    Raises
    ------
    FaultwatchError
        The repository has no such revision, or the clone lacks a part of it.
    """
    revision = repository.get_revision(name)
    refuse_incomplete_checkouts(repository, workload, (revision,))
    return revision


def refuse_incomplete_checkouts(repository: Repository, workload: Workload, revisions: Iterable[Revision]) -> None:
    """Raise if the clone lacks a part of every revision, so that none can be checked out.

    A part is a file, a submodule, or a file of Git LFS. Nothing is checked if the workload's build does not need all
    parts, or builds only the workload's folder.

    Raises
    ------
    FaultwatchError
        The clone lacks a part of every revision.
    """
    if not workload.build.incomplete and workload.build.directory != "workload":
        refuse_missing_parts(repository, revisions)


def refuse_missing_parts(repository: Repository, revisions: Iterable[Revision]) -> None:
    """Raise if the clone lacks a part of every revision, regardless of how they are built.

    The check ends at the first complete revision.

    Raises
    ------
    FaultwatchError
        The clone lacks a part of every revision.
    """
    problem = None
    for revision in revisions:
        try:
            problem = find_missing_part(repository, revision.commit)
        except GitError as error:
            if not error.remedy:  # The commit is damaged; its build will report this.
                return
            problem = IncompleteCheckout(error.what, error.remedy)
        if problem is None:
            return
    if problem:
        raise FaultwatchError(f"{repository.name} cannot be checked out: {problem.what}", problem.remedy)
