"""Reads the options with which the file system of a folder is mounted."""

import os
from contextlib import suppress
from pathlib import Path


def forbids_programs(folder: Path) -> bool:
    """Return whether programs in a folder cannot be executed (mount option ``noexec``). The folder need not exist."""
    for ancestor in (folder, *folder.parents):
        with suppress(OSError):
            return bool(os.statvfs(ancestor).f_flag & os.ST_NOEXEC)
    return False
