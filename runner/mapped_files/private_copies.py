"""Stores private copies of files that cannot be evicted because other programs map them, such as the C library.

The copy is mounted over the file in a mount namespace of the measured program, so no other program maps the copy. This
requires root or a sandbox.
"""

import hashlib
import os
import shutil
import stat
import subprocess
from functools import lru_cache
from pathlib import Path

from runner.execution.sandbox import Sandbox
from runner.mapped_files.cache_preparation import MAX_BYTES
from runner.system.durable_files import rename_durably
from runner.system.scratch import make_scratch_folder


class PrivateCopies:
    """A folder of copies, each named by the digest of its content and by its permissions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_copy(self, file: Path) -> Path | None:
        """Return a copy of a file's current content, and store it first if it is new; None if that is impossible."""
        try:
            status = file.stat()
            # The kernel does not let perf count a program that changes its user or group.
            if status.st_size > MAX_BYTES or status.st_mode & (stat.S_ISUID | stat.S_ISGID):
                return None
            content = file.read_bytes()
            mode = status.st_mode & 0o777
            # The mode is a part of the name: a copy of a file that is not executable cannot replace a program.
            copy = self._folder / f"{hashlib.sha256(content).hexdigest()}-{mode:03o}"
            # A copy of another size is damaged, for example by a power cut.
            if not copy.exists() or copy.stat().st_size != len(content):
                self._store_copy(content, copy, mode)
        except OSError:
            return None
        return copy

    def _store_copy(self, content: bytes, copy: Path, mode: int) -> None:
        """Write a private copy of a file atomically."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # Rename it when it is complete: two runners may store the same copy at once.
        with make_scratch_folder(self._folder) as scratch:
            complete_copy = scratch / copy.name
            complete_copy.write_bytes(content)
            complete_copy.chmod(mode)
            rename_durably(complete_copy, copy)


def can_mount_copies(sandbox: Sandbox | None) -> bool:
    """Return whether copies can be mounted over files for a measured program."""
    return sandbox is not None or _may_mount(os.geteuid())


@lru_cache
def _may_mount(user: int) -> bool:
    """Return whether this user can make the mount that the launcher will make, by trying it."""
    if user != 0 or shutil.which("unshare") is None:
        return False
    with make_scratch_folder() as folder:
        command = ["unshare", "--mount", "--propagation", "slave", "mount", "--bind", str(folder), str(folder)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
