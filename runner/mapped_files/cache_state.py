"""One file's state in the page cache: made in one defined way, and verified.

The state: each page of the file is in memory, as a folio by itself, and none is marked for reading ahead. It is made by
putting the file out of memory and reading it back without reading ahead. Where it holds already, nothing is read.
"""

import os
import stat
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from runner.contract.files import CacheState
from runner.mapped_files.folios import lie_plainly
from runner.mapped_files.residency import Mapped, put_out, read_in, residency

LARGEST = 1 << 30
"""Bytes of a file that is put out of memory and read back. Larger ones are left as they are."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a file's state.

    Attributes
    ----------
    reason
        Why it was left as it was; empty where it was not.
    changed
        Whether the file lay otherwise before.
    held
        What keeps its pages in memory while there is a reference to it.
    """

    cache: CacheState
    reason: str = ""
    changed: bool = False
    held: "Held | None" = field(default=None, compare=False)


class Held:
    """Keeps the pages of a file in memory, where this user may, until nobody refers to it any more."""

    def __init__(self, descriptor: int) -> None:
        self._stack = ExitStack()
        self._stack.enter_context(Mapped(descriptor)).lock()
        weakref.finalize(self, self._stack.close)


@dataclass(slots=True)
class CacheStates:
    """Makes the states of files, and remembers which it has made: only root can see how a file's pages lie."""

    _known: set[tuple[int, ...]] = field(default_factory=set)

    def make(self, path: Path) -> Made:
        """Make the state of a file."""
        try:
            # Not blocking: a pipe would wait for its other end for ever.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return Made(CacheState.LEFT, f"it cannot be read: {error.strerror}")
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                return Made(CacheState.LEFT, "it is no ordinary file")
            if state.st_size > LARGEST:
                return Made(CacheState.LEFT, f"it is larger than {LARGEST >> 20} MiB")
            return self._make(descriptor, identity_of(state))
        except OSError as error:
            return Made(CacheState.LEFT, f"it cannot be read: {error.strerror}")
        finally:
            os.close(descriptor)

    def holds(self, path: Path) -> bool:
        """Tell whether the state of a file that was made before still holds."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return self._holds(descriptor, identity_of(os.fstat(descriptor)))
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def _make(self, descriptor: int, identity: tuple[int, ...]) -> Made:
        if self._holds(descriptor, identity):
            return Made(CacheState.MADE, held=Held(descriptor))
        staying, pages = put_out(descriptor)
        there, _ = read_in(descriptor)
        held = Held(descriptor)
        plain = lie_plainly(descriptor)
        if there < pages:
            return Made(CacheState.LEFT, "not all of it stays there", True)
        # What others map cannot be put out. Nor is it known how that lies where the kernel does not tell.
        if plain or (plain is None and not staying):
            self._known.add(identity)
            return Made(CacheState.MADE, changed=True, held=held)
        return Made(CacheState.LEFT, "other programs map it, or its file system does not let go of it", held=held)

    def _holds(self, descriptor: int, identity: tuple[int, ...]) -> bool:
        plain = lie_plainly(descriptor)
        if plain:
            self._known.add(identity)
        if plain is not None or identity not in self._known:
            return bool(plain)
        there, pages = residency(descriptor)
        return there == pages


def identity_of(state: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file, and what is in it, from all others."""
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
