"""Makes a folder with many files from copies of a folder of the project, for programs that work on a whole folder."""

from collections import Counter
from collections.abc import Callable
from math import ceil

from msgspec.structs import replace

from runner.adoption.proposal import RunProposal, build_command_in_folder
from runner.adoption.server_proposals import get_program
from runner.adoption.sources import Sources, is_plain_path
from runner.adoption.tried_command import TriedCommand

_LARGER_FOLDER = "faultwatch-files"
_EMPTY_FOLDER = f"{_LARGER_FOLDER}/empty"
_N_FILES = 2000
"""The number of files in the larger folder, if these are small enough."""
_MAX_BYTES = 32 << 20
"""The largest size of the larger folder in bytes."""
_MIN_COPIED_FILES = 5
"""A folder with fewer files hardly shows what a program does with a folder."""


def choose_folder(sources: Sources, get_size: Callable[[str], int]) -> tuple[str, int] | None:
    """Return the folder to copy, and the number of copies; None if there is no suitable folder.

    Of the folders at the top that are small enough for a copy, it is the one with the most files, copied as often as
    :data:`_N_FILES` and :data:`_MAX_BYTES` allow. Folders that the newest commits have not changed come
    first, because a change to an input moves the count even if the program stays the same.

    Parameters
    ----------
    get_size
        Returns the size of a file in bytes.
    """
    folders = [file.partition("/")[0] for file in sources.files if "/" in file]
    counts = {
        folder: count
        for folder, count in Counter(folders).items()
        if count >= _MIN_COPIED_FILES and is_plain_path(folder) and not folder.startswith(".")
    }
    changed_folders = {file.partition("/")[0] for file in sources.changed_files}
    for folder in sorted(counts, key=lambda folder: (folder in changed_folders, -counts[folder], folder)):
        size = sum(get_size(file) for file in sources.files if file.startswith(f"{folder}/"))
        n_copies = min(ceil(_N_FILES / counts[folder]), _MAX_BYTES // max(size, 1))
        if n_copies:
            return folder, n_copies
    return None


def may_work_on_folder(tried_command: TriedCommand) -> bool:
    """Return whether a command may work on the folder in which it starts: nothing else gives it work.

    Only a command without arguments that starts a program of the build can be started in another folder.
    """
    run = tried_command.run
    names_program = "/" in get_program(run) and run.command == get_program(run)
    return names_program and tried_command.did_work and tried_command.has_no_work and not (run.file or run.is_server)


def run_in_folder(run: RunProposal, folder: str) -> RunProposal:
    """Return a command that starts a program in a folder at the top, without arguments."""
    return replace(
        run,
        command=build_command_in_folder(folder, run.command),
        program=get_program(run),
        input_file=folder,
        is_folder=True,
        may_do_nothing=False,
    )


def starts_in_folder(run: RunProposal) -> bool:
    """Return whether a command starts its program in a folder: a shell changes to it first."""
    return run.is_folder and run.command.startswith(f"sh -c 'cd {run.file} ")


def run_in_empty_folder(run: RunProposal) -> RunProposal:
    """Return a command that makes the empty folder, and starts a program there without arguments."""
    run_there = run_in_folder(run, _EMPTY_FOLDER)
    return replace(run_there, command=run_there.command.replace("cd ", f"mkdir -p {_EMPTY_FOLDER} && cd ", 1))


def propose_larger_folder(run: RunProposal, folder: str, n_copies: int) -> tuple[str, RunProposal, RunProposal]:
    """Return a step of the build that makes the larger folder, and the commands that start a program there.

    The second command starts it in an empty folder inside the larger one: this shows how many faults the start takes.
    """
    step = (
        f"rm -rf {_LARGER_FOLDER} && mkdir -p {_EMPTY_FOLDER} && "
        f"for copy in $(seq {n_copies}); do cp -r {folder} {_LARGER_FOLDER}/$copy; done"
    )
    return step, run_in_folder(run, _LARGER_FOLDER), run_in_folder(run, _EMPTY_FOLDER)
