"""Finds the workload file that a repository has, and decides with the user whether `init` keeps it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from runner.errors import FaultwatchError
from runner.subject.repository import Repository
from runner.subject.workload_files import list_workload_files
from runner.system.home_folder import expand_home
from runner.system.real_path import resolve_links
from runner.workload import WORKLOAD_FILE, Workload, load_workload

_MAX_NAMED_FILES = 3
"""The largest number of files that a message names."""


class Confirm(Protocol):
    """Asks the user for yes or no."""

    def __call__(self, text: str, *, default: bool) -> bool:
        """Return the answer."""


def get_workload_folder(path: str) -> str:
    """Return the folder of a workload file, given the path of the file or of the folder."""
    file_or_folder = expand_home(path)
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
        The named file does not exist or is not in the work tree, or the repository has several workload files and none
        was named.
    """
    if path is not None:
        file_or_folder = expand_home(path)
        file = resolve_links(file_or_folder / WORKLOAD_FILE if file_or_folder.is_dir() else file_or_folder)
        if not file.is_file():
            remedy = (
                "write the file, or omit WORKLOAD and pass the repository with --repo: init then proposes a "
                "workload file"
            )
            raise FaultwatchError(f"{file} does not exist", remedy)
        if not file.is_relative_to(top.resolve()):
            raise FaultwatchError(f"{file} is not in {top}", "use --repo to pass the repository that contains it")
        return file
    if (top / WORKLOAD_FILE).exists():
        return top / WORKLOAD_FILE
    files = list_workload_files(repository)
    if len(files) > 1:
        names = ", ".join(str(file.relative_to(top)) for file in files[:_MAX_NAMED_FILES])
        remainder = f" and {len(files) - _MAX_NAMED_FILES} more" if len(files) > _MAX_NAMED_FILES else ""
        raise FaultwatchError(
            f"{top} has several workload files: {names}{remainder}", "choose one: faultwatch init WORKLOAD"
        )
    return files[0] if files else top / WORKLOAD_FILE


def choose_kept_workload(
    file: Path, top: Path, confirm: Confirm, print_message: Callable[[str], None]
) -> Workload | None:
    """Return the existing workload; None if there is none, or if the user wants to replace it with a new one.

    Only a file at the top can be replaced.
    """
    if not file.exists():
        return None
    print_message(f"{file} exists")
    is_kept = file != top / WORKLOAD_FILE or confirm("Keep this file and measure its workload?", default=True)
    return load_workload(file) if is_kept else None


def refuse_second_workload(files: Sequence[Path], top_file: Path, confirm: Confirm) -> None:
    """Refuse to add a second workload file: the gate might run another one than was measured.

    Parameters
    ----------
    files
        The workload files that the repository has.
    top_file
        Path of the new file. An existing file can be replaced only at this path.

    Raises
    ------
    FaultwatchError
        A workload file exists and is not to be replaced.
    """
    file = top_file if top_file.exists() else next(iter(files), None)
    if file is None:
        return
    if file == top_file and confirm(f"{file} exists. Replace it with a new one?", default=False):
        return
    raise FaultwatchError(
        f"{file} exists, but --build and --run are for a new file",
        "to measure the existing file, omit both options; otherwise, write the commands into it, or remove it first",
    )
