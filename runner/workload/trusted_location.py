"""Decides whether a workload file may be read, because an untrusted checkout may contain links."""

import os
from pathlib import Path

from runner.errors import FaultwatchError


def locate_workload(path: Path) -> Path:
    """Return the absolute path of a workload file; its own name is not replaced by that of a link's target.

    The workload's folder is the one in which the file is found, so that a link cannot choose another one.

    Raises
    ------
    FaultwatchError
        A link leads out of the folder that the user named.
    """
    trusted = _find_trusted_part(path)
    folder = path.parent.resolve()
    file = folder / path.name
    inside = trusted is None or folder.is_relative_to(trusted.resolve())
    if inside and file.is_symlink():
        inside = file.resolve().is_relative_to(folder)
    if not inside:
        raise FaultwatchError(f"{path} is a link that points outside its folder", "pass the workload file itself")
    return file


def _find_trusted_part(path: Path) -> Path | None:
    """Return the folder that a relative path starts from; None for an absolute path, which the user wrote."""
    if path.is_absolute():
        return None
    up = 0
    parts = path.parts
    while up < len(parts) and parts[up] == os.pardir:
        up += 1
    return Path.cwd().joinpath(*parts[:up])
