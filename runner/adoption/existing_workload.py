"""Finds the workload file that a repository has, so that it is kept and not proposed again."""

from pathlib import Path

from runner.errors import FaultwatchError
from runner.subject.repository import Repository
from runner.subject.workload_files import list_workload_files
from runner.workload import WORKLOAD_FILE

_MAX_NAMED_FILES = 3
"""The most files that a message names."""


def get_workload_folder(path: str) -> str:
    """Return the folder of a workload file, given the path of either."""
    file_or_folder = Path(path).expanduser()
    return str(file_or_folder if file_or_folder.is_dir() else file_or_folder.parent)


def locate_workload_file(repository: Repository, top: Path, path: str | None) -> Path:
    """Return the path of a repository's workload file, or the path for a new one.

    Parameters
    ----------
    top
        The repository's work tree.
    path
        The file or its folder, as the user names it; None to look for it.

    Raises
    ------
    FaultwatchError
        The named file does not exist, or the repository has several workload files and none was named.
    """
    if path is not None:
        file_or_folder = Path(path).expanduser()
        file = (file_or_folder / WORKLOAD_FILE if file_or_folder.is_dir() else file_or_folder).resolve()
        if not file.is_file():
            remedy = (
                "write the file, or omit WORKLOAD and pass the repository with --repo: init then proposes a "
                "workload file"
            )
            raise FaultwatchError(f"{file} does not exist", remedy)
        if not file.is_relative_to(top.resolve()):
            raise FaultwatchError(f"{file} is not in {top}", "pass the repository that contains it with --repo")
        return file
    if (top / WORKLOAD_FILE).exists():
        return top / WORKLOAD_FILE
    files = list_workload_files(repository)
    if len(files) > 1:
        names = ", ".join(str(file.relative_to(top)) for file in files[:_MAX_NAMED_FILES])
        more = f" and {len(files) - _MAX_NAMED_FILES} more" if len(files) > _MAX_NAMED_FILES else ""
        raise FaultwatchError(
            f"{top} has several workload files: {names}{more}", "choose one: faultwatch init WORKLOAD"
        )
    return files[0] if files else top / WORKLOAD_FILE
