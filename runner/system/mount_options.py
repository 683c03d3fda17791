"""Reads the options with which the file system of a folder is mounted."""

import os
from contextlib import suppress
from pathlib import Path


def forbids_programs(folder: Path) -> bool:
    """Return whether no program in a folder, which may not exist yet, can be executed (mount option ``noexec``)."""
    for ancestor in (folder, *folder.parents):
        with suppress(OSError):
            return bool(os.statvfs(ancestor).f_flag & os.ST_NOEXEC)
    return False
