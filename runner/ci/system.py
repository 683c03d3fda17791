"""The description of a CI system, and of one of its jobs."""

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct


class CiJob(Struct, frozen=True):
    """A CI job, as the report of a gate describes it. Without values, it belongs to no pull request.

    Attributes
    ----------
    forge
        The forge that runs it, a value of :class:`runner.contract.gate.ForgeKind`; meaningless without ``repository``.
    repository
        The path of the repository at the forge; None outside of a forge's CI.
    pull_request
        The number of the pull request; None if the variables name none. The service then looks for it by its head.
    merge_group
        Whether the job runs for a merge queue.
    log_url
        The URL of its log; empty if unknown.
    """

    forge: str = "github"
    repository: str | None = None
    pull_request: int | None = None
    merge_group: bool = False
    log_url: str = ""


class FileLocation(Struct, frozen=True):
    """Where the gate's file for a CI system is written.

    Attributes
    ----------
    path
        The path of the file, relative to the top of the repository.
    remark
        What the user has to do manually, as one sentence.
    """

    path: str
    remark: str


class SecondFile(Struct, frozen=True):
    """A file that a system needs in addition to the gate's file: its path and its template."""

    path: str
    template: str


class CiSystem(Struct, frozen=True):
    """A CI system.

    Attributes
    ----------
    name
        Its name in ``faultwatch init --ci``.
    template
        The name of the gate's template in the folder ``templates``.
    choose_location
        Returns where the file is written, given the tracked files of a repository.
    marker_paths
        Files and folders that show that a repository uses the system; folders end in ``/``.
    server_words
        Words that the names of its servers contain.
    read_job
        Returns the job that environment variables describe; None if they describe no job of this system.
    is_program
        Whether the gate's file is executable.
    second_file
        A second file that the system needs; None if one is enough.
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
    """Return the first file that is one of the marker paths or is below one; empty if there is none."""
    return next(
        (
            file
            for file in files
            for marker_path in marker_paths
            if file == marker_path or (marker_path.endswith("/") and file.startswith(marker_path))
        ),
        "",
    )
