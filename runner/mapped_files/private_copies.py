"""Private copies of files that cannot be put out of memory because other programs map them, such as the C library.

A copy is kept, and laid over the file in the measured program's own view of the file system: nobody else maps it. Root
can give a program such a view, and so can a sandbox.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from runner.execution.sandbox import Sandbox
from runner.mapped_files.cache_state import LARGEST


class PrivateCopies:
    """The copies that are kept in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy_of(self, file: Path) -> Path | None:
        """Return the copy of a file as it is now, made unless it is kept; None where there can be none."""
        try:
            state = file.stat()
            if state.st_size > LARGEST or state.st_mode & 0o6000:
                return None  # The kernel lets nobody count what runs with others' rights.
            content = file.read_bytes()
            copy = self._folder / hashlib.sha256(content).hexdigest()
            if not copy.exists():
                self._keep(content, copy, state.st_mode & 0o777)
        except OSError:
            return None
        return copy

    def _keep(self, content: bytes, copy: Path, mode: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        # Under another name first: two runners may make it at once.
        with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
            made = Path(scratch, copy.name)
            made.write_bytes(content)
            made.chmod(mode)
            made.rename(copy)


def can_lay_over(sandbox: Sandbox | None) -> bool:
    """Tell whether a measured program can be given copies in place of files."""
    return sandbox is not None or _may_mount(os.geteuid())


@lru_cache
def _may_mount(user: int) -> bool:
    """Try out what the launcher does."""
    if user != 0 or shutil.which("unshare") is None:
        return False
    with tempfile.NamedTemporaryFile() as file:
        words = ["unshare", "--mount", "--propagation", "slave", "mount", "--bind", file.name, file.name]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0
