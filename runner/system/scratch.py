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

_PREFIX = "faultwatch-"
_FOLDER_NAME = re.compile(rf"{_PREFIX}(\d+-\d+-[0-9a-f]{{8}})-\w+")


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


def remove_abandoned(parent: Path | None = None) -> None:
    """Remove this user's temporary folders whose processes no longer run.

    Other users can make folders in the same place, so only folders that belong to this user are removed, and links are
    not followed.
    """
    parent = parent or Path(tempfile.gettempdir())
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            match = _FOLDER_NAME.fullmatch(entry.name)
            if not match or is_alive(match[1]):
                continue
            with suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid():
                    shutil.rmtree(entry.path, ignore_errors=True)
