"""Where the repository and the workloads of a subject are on this host: what earlier commands were told.

A job of the service names its subject and no path: that would mean something on one machine alone.
"""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runner.settings import Settings
from runner.subject.repository import Repository
from runner.workload import Workload


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """What is known of a subject.

    Attributes
    ----------
    repository
        Path or address of its repository; empty where it is not known.
    workloads
        Path of the file of each workload, by its name.
    """

    repository: str = ""
    workloads: dict[str, str] = field(default_factory=dict)


def register_subject(settings: Settings, repository: Repository, workload: Workload) -> None:
    """Keep where a subject's repository and one of its workloads are; never a reason for a command to fail."""
    found = find_subject(settings, repository.name)
    known = SubjectEntry(
        _location(settings, repository), found.workloads | {workload.name: str(workload.path.resolve())}
    )
    if known == found:
        return
    file = _file(settings, repository.name)
    part = file.with_name(f".{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"repository": known.repository, "workloads": known.workloads}), encoding="utf-8")
        part.replace(file)


def find_subject(settings: Settings, subject: str) -> SubjectEntry:
    """Return what is known of a subject."""
    try:
        document = json.loads(_file(settings, subject).read_text(encoding="utf-8"))
        workloads = {str(name): str(path) for name, path in document["workloads"].items()}
        return SubjectEntry(str(document["repository"]), workloads)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return SubjectEntry()


def _location(settings: Settings, repository: Repository) -> str:
    """Return the path of a repository, or the address that it was cloned from."""
    if not repository.path.is_relative_to(settings.clones):
        return str(repository.path)
    return repository.git("remote", "get-url", "origin").strip()


def _file(settings: Settings, subject: str) -> Path:
    return settings.home / "subjects" / f"{subject}.json"
