"""Writes files and folders so that a power cut leaves the old one, the new one, or none, but never a partial one."""

import os
from pathlib import Path

from runner.system.tree_walk import walk_tree


def rename_durably(complete_path: Path, target: Path) -> None:
    """Replace a file by a complete one, after its content has reached the storage."""
    _sync_path(complete_path)
    complete_path.replace(target)
    sync_folder(target.parent)


def rename_folder_durably(complete_path: Path, target: Path) -> None:
    """Give a complete folder its name, after everything in it has reached the storage.

    Raises
    ------
    OSError
        A file cannot be read, or the name belongs to a folder that is not empty.
    TreeTooLarge
        The folder has too many files.
    """
    for entry in walk_tree(complete_path):
        if entry.is_dir(follow_symlinks=False):
            sync_folder(Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            _sync_path(Path(entry.path))
    sync_folder(complete_path)
    complete_path.rename(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder have reached the storage."""
    _sync_path(folder, os.O_DIRECTORY)


def _sync_path(path: Path, open_flags: int = 0) -> None:
    """Wait until a file or folder has reached the storage."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | open_flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
