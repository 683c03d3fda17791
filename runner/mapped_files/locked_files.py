"""Locks the pages of files in memory until the session ends."""

import weakref
from contextlib import ExitStack

from runner.mapped_files.residency import FileMapping


class ResidencyLock:
    """Keeps the pages of a file resident as long as this object is referenced, if this user may lock memory."""

    def __init__(self, descriptor: int) -> None:
        self._stack = ExitStack()
        mapping = self._stack.enter_context(FileMapping(descriptor))
        mapping.lock()  # If this user may not lock memory, the kernel can evict the pages at any time.
        weakref.finalize(self, self._stack.close)
