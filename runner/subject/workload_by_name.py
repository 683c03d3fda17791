"""Finds a workload by its name: in a repository, among those measured on this host, or among the shipped ones."""

from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from runner.errors import FaultwatchError
from runner.settings import Settings
from runner.subject.repository import Repository
from runner.subject.subject_registry import find_subject
from runner.subject.workload_files import list_workload_files
from runner.workload import WORKLOAD_FILE, Workload, load_workload
from runner.workload.workload_lookup import find_workload, is_path, list_shipped_names


def find_named_workload(name: str, repository: Repository | None, settings: Settings) -> Workload:
    """Return the workload at a path, or the workload with a name in a repository or among the shipped ones.

    Raises
    ------
    FaultwatchError
        There is no such workload; the remedy suggests a similar name, or lists the names.
    """
    if is_path(name) or not repository:
        return find_workload(name)
    names = set()
    for workload in _list_workloads(name, repository, settings):
        if workload.name == name:
            return workload
        names.add(workload.name)
    # A repository without workloads has no names to suggest, so the shipped ones are looked up, or suggested.
    if not names or name in list_shipped_names():
        return find_workload(name)
    similar_names = get_close_matches(name, names, n=1)
    raise FaultwatchError(
        f"{name}: no such file or folder, and {repository.name} has no workload with that name",
        f"did you mean {similar_names[0]!r}?" if similar_names else f"its workloads: {', '.join(sorted(names))}",
    )


def find_workload_by_name(name: str, repository: Repository, settings: Settings) -> Workload | None:
    """Return the workload with a name; None if there is none.

    The files of the repository are searched, and the files with which it was measured on this host. Invalid files are
    ignored.
    """
    return next((workload for workload in _list_workloads(name, repository, settings) if workload.name == name), None)


def _list_workloads(name: str, repository: Repository, settings: Settings) -> Iterator[Workload]:
    """Yield the valid workloads in the candidate files."""
    for file in _list_candidate_files(name, repository, settings):
        with suppress(FaultwatchError):
            yield load_workload(file)


def _list_candidate_files(name: str, repository: Repository, settings: Settings) -> Iterator[Path]:
    """Yield the candidate files: that at the top, those with which this host has measured, then those in folders."""
    main_file = repository.path / WORKLOAD_FILE
    if main_file.is_file():
        yield main_file
    registered_file = find_subject(settings, repository.name).workloads.get(name)
    if registered_file and Path(registered_file).is_file():
        yield Path(registered_file)
    yield from list_workload_files(repository)
