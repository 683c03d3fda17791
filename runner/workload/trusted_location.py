"""Decides whether a workload file may be read, because an untrusted checkout may contain links."""

import os
from pathlib import Path

from runner.errors import FaultwatchError


def locate_workload(path: Path) -> Path:
    """Return the absolute path of a workload file; for a link, the path of the link itself.

    The workload's folder is then that of the link, so a link cannot choose another folder.

    Raises
    ------
    FaultwatchError
        A link leads out of the folder that the user named.
    """
    trusted_part = _find_trusted_part(path)
    folder = path.parent.resolve()
    file = folder / path.name
    is_inside = trusted_part is None or folder.is_relative_to(trusted_part.resolve())
    if is_inside and file.is_symlink():
        is_inside = file.resolve().is_relative_to(folder)
    if not is_inside:
        raise FaultwatchError(f"{path} is a link that points outside its folder", "pass the workload file itself")
    return file


def _find_trusted_part(path: Path) -> Path | None:
    """Return the folder at which a relative path starts; None for an absolute path, which the user wrote."""
    if path.is_absolute():
        return None
    n_parents = 0
    parts = path.parts
    while n_parents < len(parts) and parts[n_parents] == os.pardir:
        n_parents += 1
    return Path.cwd().joinpath(*parts[:n_parents])
