"""Counts the seconds that builds run, without the time for which they are stopped because something is measured.

A build has a time limit, and is stopped whenever the host is needed for a measurement. The limit is compared with this
clock, so a build that was stopped for an hour has as many seconds left as before. A build that hangs, or stops itself,
still ends at its limit: only the process that stops builds can stop the clock.
"""

import os
import struct
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS = struct.Struct("d")


class BuildClock:
    """A clock that stands still while builds are stopped.

    Attributes
    ----------
    descriptor
        A file in memory that contains the seconds for which builds were stopped. A process that is stopped along with
        its builds inherits the descriptor, because it cannot know otherwise how long it was stopped.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """Create a clock; with the descriptor of another process's clock, it stops whenever that clock stops."""
        self._stopped_since: float | None = None
        if descriptor is None:
            descriptor = os.memfd_create("seconds-stopped")
            weakref.finalize(self, os.close, descriptor)
            os.pwrite(descriptor, _SECONDS.pack(0.0), 0)
        self.descriptor = descriptor

    def read(self) -> float:
        """Return the seconds since a fixed moment, without those for which builds were stopped."""
        # Read the time first: if this process is stopped between the two reads, the stop must not count as run time.
        now = time.monotonic()
        since = self._stopped_since
        return now - self._read_stopped_seconds() - (0.0 if since is None else max(0.0, now - since))

    @contextmanager
    def stop(self) -> Iterator[None]:
        """Stop the clock within a context."""
        self._stopped_since = since = time.monotonic()
        try:
            yield
        finally:
            stopped_seconds = self._read_stopped_seconds() + time.monotonic() - since
            os.pwrite(self.descriptor, _SECONDS.pack(stopped_seconds), 0)
            self._stopped_since = None

    def _read_stopped_seconds(self) -> float:
        seconds: float = _SECONDS.unpack(os.pread(self.descriptor, _SECONDS.size, 0))[0]
        return seconds
