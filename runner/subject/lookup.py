"""Finds the repository that a workload measures."""

from pathlib import Path

from runner.errors import FaultwatchError
from runner.settings import Settings
from runner.subject.repository import Repository, open_repository
from runner.subject.shipped_workloads import shipped_repository
from runner.workload import Workload
from runner.workload.lookup import SHIPPED_WORKLOADS, find_workload


def workload_and_repository(
    settings: Settings, workload_name: str | None, repo: str | None
) -> tuple[Workload, Repository]:
    """Find the workload and the repository of a command; if only one is named, look for the other in it.

    Raises
    ------
    FaultwatchError
        One of them does not exist, or none is named and the current folder has no workload.
    """
    if repo and not workload_name:
        repository = open_repository(repo, settings.clones)
        return find_workload(_own_workload(repository.path)), repository
    workload = find_workload(workload_name or _own_workload(Path.cwd()))
    return workload, repository_of(workload, repo, settings)


def _own_workload(folder: Path) -> str:
    file = folder / "workload.toml"
    if not file.exists():
        raise FaultwatchError(f"{folder} has no workload.toml", "name a WORKLOAD, or write one with `faultwatch init`")
    return str(file)


def repository_of(workload: Workload, repo: str | None, settings: Settings) -> Repository:
    """Open the repository to measure: the named one, else the one that contains the workload.

    Raises
    ------
    FaultwatchError
        There is no repository, or none is named for a shipped workload that builds another repository.
    """
    if not repo and workload.path.is_relative_to(SHIPPED_WORKLOADS):
        if workload.build.directory == "subject":
            raise FaultwatchError(
                f"{workload.name} does not build the repository that contains it",
                "name the repository to build with --repo",
            )
        if shipped := shipped_repository(SHIPPED_WORKLOADS, settings.home):
            return shipped
    return open_repository(repo or str(workload.path.parent), settings.clones, named=bool(repo))


def refuse_dirty(repository: Repository, *, allow: bool) -> None:
    """Refuse a repository whose work tree has uncommitted changes: only commits are measured.

    Raises
    ------
    FaultwatchError
        There are uncommitted changes, and they are not allowed.
    """
    if not allow and repository.is_dirty():
        raise FaultwatchError(
            f"{repository.path} has uncommitted changes, and only commits are measured",
            "commit or stash them, or pass --committed-only to leave them out",
        )
