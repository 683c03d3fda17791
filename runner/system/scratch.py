"""Makes temporary folders that are named after their process, and removes those of processes that were killed."""

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.system.processes import is_alive, read_own_name
from runner.system.regular_file import read_regular

_PREFIX = "faultwatch-"
_OWNER = re.compile(r"\d+-\d+-[0-9a-f]{8}")
_FOLDER_NAME = re.compile(rf"{_PREFIX}({_OWNER.pattern})-\w+")
_SHORT_FOLDER_NAME = re.compile(rf"{_PREFIX}\w{{8}}")
_OWNER_FILE = "owner"
"""The file in a folder with a short name that contains the name of the process."""
_MAX_OWNER_BYTES = 100


@contextmanager
def make_scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make and yield a temporary folder, and remove it at the end of the context.

    Parameters
    ----------
    parent
        The folder in which to make it; by default the system's folder of temporary files.
    """
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{read_own_name()}-", dir=parent) as folder:
        yield Path(folder)


@contextmanager
def make_short_scratch_folder() -> Iterator[Path]:
    """Make and yield a temporary folder like :func:`make_scratch_folder`, whose path is short and of constant length.

    Its process is named in a file within it. It is removed even if a program has made files in it.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        (folder / _OWNER_FILE).write_text(read_own_name(), encoding="ascii")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned_folders(parent: Path | None = None) -> None:
    """Remove this user's temporary folders whose processes no longer run.

    Other users can make folders in the same place, so only folders that belong to this user are removed, and links are
    not followed.

    Parameters
    ----------
    parent
        The folder that contains them; by default the system's folder of temporary files.
    """
    parent = parent or Path(tempfile.gettempdir())
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                    continue
                owner = _read_owner(entry)
                if owner and not is_alive(owner):
                    shutil.rmtree(entry.path, ignore_errors=True)


def _read_owner(entry: os.DirEntry[str]) -> str:
    """Return the name of the process that made a folder of this user; empty if the folder is none of ours."""
    if match := _FOLDER_NAME.fullmatch(entry.name):
        return match[1]
    if not _SHORT_FOLDER_NAME.fullmatch(entry.name):
        return ""
    text = read_regular(Path(entry.path, _OWNER_FILE), _MAX_OWNER_BYTES, may_be_link=False).decode(errors="replace")
    return text if _OWNER.fullmatch(text) else ""
