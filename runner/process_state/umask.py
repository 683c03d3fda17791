"""The umask of a process."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from runner.system.tree import Tree


class FileMask:
    """The umask. With an unusual one, a program may be unable to read its own files, and do different work."""

    setting = "process.umask"
    target = "0022"
    remedy = ""  # No host forbids this.

    def __init__(self, tree: Tree | None = None) -> None:
        self._tree = tree or Tree()
        self._previous_umask = 0

    def read_value(self) -> str:
        """Return the umask in octal."""
        match = re.search(r"^Umask:\s+(\d+)", self._tree.read_text("proc/self/status") or "", re.MULTILINE)
        return match[1] if match else self.target

    def apply(self) -> None:
        """Set the umask."""
        self._previous_umask = os.umask(int(self.target, 8))

    def undo(self) -> None:
        """Restore the umask."""
        os.umask(self._previous_umask)


@contextmanager
def use_standard_umask() -> Iterator[None]:
    """Set the umask of measured programs within the context, so that the files of a build have the same permissions."""
    mask = FileMask()
    mask.apply()
    try:
        yield
    finally:
        mask.undo()
