"""What the command knows about a CI system."""

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct


class CiJob(Struct, frozen=True):
    """A job of a forge's CI, as a gate's report describes it.

    Attributes
    ----------
    forge
        A value of :class:`runner.contract.gate.ForgeKind`.
    repository
        None outside of a forge's CI.
    pull_request
        None if the variables name none: the service then finds it by its head.
    merge_group
        Whether it runs for a merge queue.
    log_url
        URL of its log; empty if unknown.
    """

    forge: str = "github"
    repository: str | None = None
    pull_request: int | None = None
    merge_group: bool = False
    log_url: str = ""


class FileLocation(Struct, frozen=True):
    """Where the gate's file for a CI system goes.

    Attributes
    ----------
    path
        The path of the file, relative to the top of the repository.
    remark
        What the user has to do by hand, as one sentence.
    """

    path: str
    remark: str


class SecondFile(Struct, frozen=True):
    """Another file that a system needs beside that of the gate: its path, and its template."""

    path: str
    template: str


class CiSystem(Struct, frozen=True):
    """A CI system.

    Attributes
    ----------
    name
        Its name in ``faultwatch init --ci``.
    template
        The gate's file, in the folder ``templates``.
    choose_location
        Returns where the file goes, given the tracked files of a repository.
    marker_paths
        Files by which a repository that uses the system is recognised; folders end in ``/``.
    server_words
        Words in the names of its servers.
    read_job
        Returns the job that environment variables describe; None if they describe no job of this system.
    is_program
        Whether the file can be executed.
    second_file
        A second file; None if one is enough.
    """

    name: str
    template: str
    choose_location: Callable[[Collection[str]], FileLocation]
    marker_paths: tuple[str, ...] = ()
    server_words: tuple[str, ...] = ()
    read_job: Callable[[Mapping[str, str]], CiJob | None] = lambda _: None
    is_program: bool = False
    second_file: SecondFile | None = None


def find_marked_file(files: Collection[str], *marker_paths: str) -> str:
    """Return the first file that is one of the marks, or is in a marked folder; empty if there is none."""
    return next(
        (
            file
            for file in files
            for marker_path in marker_paths
            if file == marker_path or (marker_path.endswith("/") and file.startswith(marker_path))
        ),
        "",
    )
