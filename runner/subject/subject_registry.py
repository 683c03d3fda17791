"""Registers where the repository and the workloads of each subject are on this host.

A job of the service names only its subject, because paths differ between machines.
"""

import json
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from runner.settings import Settings
from runner.subject.repository import Repository
from runner.system.private_folder import make_private_folder
from runner.system.processes import is_alive, read_own_name
from runner.workload import Workload


class SubjectEntry(Struct, frozen=True):
    """The locations of a subject.

    Attributes
    ----------
    repository
        The path or address of the repository; empty if unknown.
    workloads
        The paths of workload files, by the name of the workload.
    """

    repository: str = ""
    workloads: dict[str, str] = field(default_factory=dict)


def register_subject(settings: Settings, repository: Repository, workload: Workload) -> None:
    """Store the locations of a subject's repository and of one of its workloads; ignore errors."""
    previous_subject = find_subject(settings, repository.name)
    workloads = previous_subject.workloads | {workload.name: str(workload.path.resolve())}
    entry = SubjectEntry(_get_location(settings, repository), workloads)
    if entry == previous_subject:
        return
    file = _get_subject_file(settings, repository.name)
    temporary_file = file.with_name(f".{file.name}.{read_own_name()}")
    with suppress(OSError):
        make_private_folder(file.parent)
        temporary_file.write_text(
            json.dumps({"repository": entry.repository, "workloads": entry.workloads}), encoding="utf-8"
        )
        temporary_file.replace(file)


def remove_partial_entries(settings: Settings) -> None:
    """Remove the partial files of killed processes."""
    for temporary_file in (settings.home / "subjects").glob(".*.json.*"):
        if not is_alive(temporary_file.name.rpartition(".")[2]):
            with suppress(OSError):
                temporary_file.unlink()


def find_subject(settings: Settings, subject: str) -> SubjectEntry:
    """Return the registered locations of a subject; empty if there are none."""
    try:
        document = json.loads(_get_subject_file(settings, subject).read_text(encoding="utf-8"))
        workloads = {str(name): str(path) for name, path in document["workloads"].items()}
        return SubjectEntry(str(document["repository"]), workloads)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no file, or one with another content
        return SubjectEntry()


def _get_location(settings: Settings, repository: Repository) -> str:
    """Return the path of a repository, or the URL that it was cloned from."""
    if not repository.path.is_relative_to(settings.clones):
        return str(repository.path)
    # Do not use `git remote get-url`: it rewrites the address by url.*.insteadOf, which can add a password.
    return repository.git("config", "--get", "remote.origin.url").strip()


def _get_subject_file(settings: Settings, subject: str) -> Path:
    return settings.home / "subjects" / f"{subject}.json"
