"""Replaces files and folders atomically and durably: even after a power cut, there is never a partial one."""

import os
from collections.abc import Mapping
from pathlib import Path

from runner.system.tree_walk import walk_tree


def rename_durably(complete_path: Path, target: Path) -> None:
    """Replace a file atomically by a complete one, after the new content has reached the storage.

    Raises
    ------
    OSError
        The complete file cannot be read, or the other one cannot be replaced.
    """
    rename_together_durably({complete_path: target})


def rename_together_durably(targets: Mapping[Path, Path]) -> None:
    """Replace several files of one folder by complete ones, as :func:`rename_durably` does with one.

    Nothing is written to the storage between the first and the last file, so that they hardly ever are there in part.

    Parameters
    ----------
    targets
        The file to replace, by the complete file.

    Raises
    ------
    OSError
        A complete file cannot be read, or one of the others cannot be replaced.
    """
    for complete_path in targets:
        _sync_path(complete_path)
    for complete_path, target in targets.items():
        complete_path.replace(target)
    for folder in {target.parent for target in targets.values()}:
        sync_folder(folder)


def rename_folder_durably(complete_path: Path, target: Path) -> None:
    """Rename a complete folder to its final name, after all its content has reached the storage.

    Raises
    ------
    OSError
        A file cannot be read, or there is a folder of this name that is not empty.
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


def rename_new_folder_durably(complete_path: Path, target: Path) -> None:
    """Rename a complete folder, as :func:`rename_folder_durably` does, unless another process has made it meanwhile.

    In that case, the complete folder keeps its name.
    """
    try:
        rename_folder_durably(complete_path, target)
    except OSError:
        if not target.is_dir():
            raise


def sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder (not the content of its files) have reached the storage."""
    _sync_path(folder, os.O_DIRECTORY)


def _sync_path(path: Path, open_flags: int = 0) -> None:
    """Wait until a file or folder has reached the storage."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | open_flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
