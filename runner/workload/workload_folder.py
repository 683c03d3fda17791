"""Provides the copy of the workload's own folder that builds and programs see, and the variables of a build.

A program never sees the folder itself, but only a copy, which is named by a digest of its content. The program can
therefore read exactly the files that the workload's definition covers. A sandbox shows the copy read-only.
"""

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from runner.contract.base import Parameter
from runner.errors import FaultwatchError
from runner.execution.process_variables import BASE_VARIABLES
from runner.settings import MAX_BUILDS_DAYS, load_settings
from runner.system.durable_files import rename_new_folder_durably
from runner.system.path_length import compute_path_length, pad_path
from runner.system.processes import read_own_name
from runner.system.tree_walk import remove_tree, walk_tree
from runner.workload.definition import Workload
from runner.workload.placeholders import HOME_PLACEHOLDER, OWN_FOLDER_PLACEHOLDER
from runner.workload.workload_folder_files import (
    compute_tree_digest,
    copy_sources,
    list_source_files,
    select_build_files,
)

_DIGEST_DIGITS = 32


def get_build_variables(workload: Workload, home: str | None = None) -> dict[str, str]:
    """Return the environment variables of a build.

    Parameters
    ----------
    home
        The folder of the build, which becomes ``HOME`` unless the workload sets this variable.
    """
    own_variables = {name: _replace_placeholders(text, workload) for name, text in workload.build.environment.items()}
    return {**BASE_VARIABLES, **({"HOME": home} if home else {}), **own_variables}


def get_build_path(workload: Workload) -> str:
    """Return the ``PATH`` of a build."""
    return get_build_variables(workload)["PATH"]


def get_build_command(workload: Workload) -> tuple[str, ...] | None:
    """Return the build command; None if nothing is built."""
    command = workload.build.command
    if command is None:
        return None
    return tuple(_replace_placeholders(word, workload) for word in command)


def provide_own_folder(workload: Workload) -> Path | None:
    """Return the copy of a workload's folder, which is made if necessary; None if the workload does not use it.

    Raises
    ------
    FaultwatchError
        The folder has a file that is not allowed in it, such as a socket, or has changed since the definition was read.
    """
    if not workload.uses_own_folder:
        return None
    digest = workload.own_digest
    settings = load_settings()
    # The path has the same length in every data folder: programs keep it on their heap, so it affects their faults.
    copy = pad_path(settings.home / "workloads", digest[:_DIGEST_DIGITS], compute_path_length(settings.builds))
    if not copy.is_dir():
        _remove_unused_copies(copy.parent)
        temporary_copy = copy.with_name(f".{copy.name}.{read_own_name()}")
        try:
            copy_sources(workload.list_own_files(), temporary_copy)
            if compute_tree_digest(select_build_files(list_source_files(temporary_copy))) != digest:
                raise FaultwatchError(
                    f"the files in {workload.path.parent} changed while the command was running", "start again"
                )
            _make_tree_readable(temporary_copy)
            rename_new_folder_durably(temporary_copy, copy)
        finally:
            remove_tree(temporary_copy)
    os.utime(copy)  # Record the last use.
    return copy


def get_folder_value(folder: Path | None) -> dict[str, Parameter]:
    """Return the value of ``{workload}``, which is the copy of the workload's folder; empty if it is not used."""
    return {"workload": str(folder)} if folder else {}


def _replace_placeholders(text: str, workload: Workload) -> str:
    """Return a text with the placeholders for the home folder and the workload's own folder replaced."""
    if HOME_PLACEHOLDER in text:
        text = text.replace(HOME_PLACEHOLDER, str(Path.home()))
    if OWN_FOLDER_PLACEHOLDER in text:
        text = text.replace(OWN_FOLDER_PLACEHOLDER, str(provide_own_folder(workload)))
    return text


def _make_tree_readable(tree: Path) -> None:
    """Let all users read a tree, because programs in a sandbox may run as another user; let nobody write its files."""
    for entry in walk_tree(tree):
        mode = entry.stat(follow_symlinks=False).st_mode
        new_mode = 0o555 if mode & stat.S_IXUSR else 0o444
        if stat.S_ISDIR(mode):
            new_mode = 0o755  # The runner must be able to remove the content later.
        Path(entry.path).chmod(new_mode)
    tree.chmod(0o755)


def _remove_unused_copies(folder: Path) -> None:
    """Remove the copies that have not been used for as long as unused builds are kept."""
    oldest_kept_at = time.time() - MAX_BUILDS_DAYS * 86_400
    for copy in folder.glob("*"):
        with suppress(OSError):
            if copy.stat().st_mtime < oldest_kept_at:
                remove_tree(copy)
