"""Finds the repository and the workload of a command, and refuses work trees with uncommitted changes."""

from contextlib import suppress
from pathlib import Path

from runner.contract.base import load_validation
from runner.errors import FaultwatchError
from runner.execution.background_thread import start_in_background
from runner.settings import Settings
from runner.subject.repository import Repository, open_repository
from runner.subject.shipped_workloads import prepare_shipped_repository
from runner.subject.workload_by_name import find_named_workload
from runner.subject.workload_files import list_workload_files
from runner.system.real_path import resolve_links
from runner.workload import WORKLOAD_FILE, Workload
from runner.workload.workload_lookup import SHIPPED_WORKLOADS, find_workload

_MAX_NAMED_FILES = 3
"""The largest number of changed files that a message names."""


def find_workload_and_repository(
    settings: Settings, workload_name: str | None, repo: str | None
) -> tuple[Workload, Repository]:
    """Return the workload and the repository of a command. If only one of them is named, it determines the other.

    A workload is named by its path or by the name in its file. A name is looked up in the repository (by default, that
    of the current folder), and among the shipped workloads.

    Raises
    ------
    FaultwatchError
        The workload or the repository does not exist, or neither is named and the current folder has no workload.
    """
    start_in_background(load_validation)  # The modules load while git runs.
    repository = open_repository(repo, settings.clones) if repo else None
    if not workload_name:
        workload = find_workload(_locate_workload_file(repository.path if repository else Path.cwd(), settings))
    else:
        workload = find_named_workload(workload_name, repository or _find_current_repository(settings), settings)
    return workload, repository or _open_repository(workload, settings)


def _find_current_repository(settings: Settings) -> Repository | None:
    """Return the repository that contains the current folder; None if there is none."""
    try:
        return open_repository(str(Path.cwd()), settings.clones, explicit=False)
    except FaultwatchError:
        return None


def _locate_workload_file(folder: Path, settings: Settings) -> str:
    """Return the path of the workload file in a folder; if there is none, raise with a remedy."""
    file = folder / WORKLOAD_FILE
    if file.exists():
        return str(file)
    repository = None
    with suppress(FaultwatchError):
        repository = open_repository(str(folder), settings.clones, explicit=False)
    files = list_workload_files(repository) if repository else []
    remedy = f"choose one, such as {files[0]}" if files else "pass a WORKLOAD, or create one with `faultwatch init`"
    raise FaultwatchError(f"{folder} has no {WORKLOAD_FILE}", remedy)


def _open_repository(workload: Workload, settings: Settings) -> Repository:
    """Open the repository that contains a workload.

    Raises
    ------
    FaultwatchError
        There is no repository, or the workload is a shipped one that builds another repository.
    """
    if workload.path.is_relative_to(SHIPPED_WORKLOADS):
        if workload.build.directory == "subject":
            raise FaultwatchError(
                f"{workload.name} does not build the repository that contains it",
                "pass the repository to build with --repo",
            )
        shipped_repository = prepare_shipped_repository(SHIPPED_WORKLOADS, settings.home)
        if shipped_repository:
            return shipped_repository
        # In a clone of Faultwatch, the shipped workloads are files of that clone.
    return open_repository(str(workload.path.parent), settings.clones, explicit=False)


def refuse_dirty_work_tree(repository: Repository, workload: Workload, *, allows_changes: bool) -> None:
    """Raise if the work tree of a repository has uncommitted changes, because only commits are measured.

    The workload file is an exception: it says how to measure, and is read from the work tree.

    Parameters
    ----------
    allows_changes
        Whether changes are allowed, because the user wants to leave them out.

    Raises
    ------
    FaultwatchError
        There are uncommitted changes, and they are not allowed.
    """
    changed_files = [] if allows_changes else repository.list_changed_files()
    if changed_files:
        work_tree = repository.get_work_tree()
        workload_file = resolve_links(workload.path)
        changed_files = [name for name in changed_files if resolve_links(work_tree / name) != workload_file]
    if changed_files:
        file_names = ", ".join(changed_files[:_MAX_NAMED_FILES])
        if len(changed_files) > _MAX_NAMED_FILES:
            file_names += f" and {len(changed_files) - _MAX_NAMED_FILES} more"
        raise FaultwatchError(
            f"{repository.path} has uncommitted changes ({file_names}), and only commits are measured",
            "commit or stash them, or pass --committed-only to leave them out",
        )
