"""Changes a setting of the whole host temporarily, and restores it even if the runner is killed."""

import fcntl
import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from runner.errors import FaultwatchError
from runner.system.tree import Tree

MAX_WAIT_SECONDS = 300.0
"""Seconds to wait for another session that needs a different value. A session holds the setting for one execution."""
_POLL_SECONDS = 0.02
"""Seconds between two attempts to lock the setting."""
_GUARD = 'trap "" HUP INT TERM; read -r _; printf %s "$1" >"$2"'
"""The script of the guard. It survives the signals that end the runner, and writes the value when its input ends."""


class HostSetting:
    """A file of /sys that lists several choices, and is held at one choice.

    The file is locked while it is held. The lock is shared if the file has the value already, so that sessions that
    need the same value do not wait for each other, and otherwise exclusive. If the value is changed, a guard process
    waits until the runner calls :meth:`restore` or is killed, and then restores the previous value. Several objects of
    this process that need the same value at the same time, such as those of two servers, share one lock and guard.
    """

    def __init__(self, name: str, tree: Tree) -> None:
        self._name = name
        self._tree = tree
        self._hold: _Hold | None = None

    def read_value(self) -> str:
        """Return the current choice; empty if the host has no such setting."""
        return self._tree.read_choice(self._name) or ""

    def hold(self, value: str) -> None:
        """Hold the setting at a value; change it if necessary.

        Raises
        ------
        OSError
            This host forbids it. Nothing has changed then.
        FaultwatchError
            Another session holds a different value for too long.
        """
        file = self._tree.path(self._name)
        shared_hold = _own_holds.get(file)
        if shared_hold and shared_hold.value == value:
            shared_hold.holders += 1
            self._hold = shared_hold
            return
        hold = _Hold(value, os.open(file, os.O_RDONLY | os.O_CLOEXEC))
        try:
            self._acquire_lock(hold, fcntl.LOCK_SH)
            if self.read_value() != value:  # Otherwise other sessions can hold this value at the same time.
                if not os.access(file, os.W_OK):
                    raise PermissionError(f"{file} is not writable")
                self._acquire_lock(hold, fcntl.LOCK_EX)
                hold.previous_value = self.read_value()
                with file.open("w", encoding="ascii") as writer:
                    hold.guard = _start_guard(hold.previous_value, file, hold.lock_descriptor)
                    writer.write(value)
        except BaseException:
            self._end(hold)
            raise
        self._hold = _own_holds[file] = hold

    def restore(self) -> None:
        """Let the guard restore the previous value, and release the lock, unless this process still needs the value.

        Raises
        ------
        FaultwatchError
            The previous value could not be restored; the message says how to restore it.
        """
        hold, self._hold = self._hold, None
        if hold is None:
            return
        hold.holders -= 1
        if hold.holders == 0:
            del _own_holds[self._tree.path(self._name)]
            self._end(hold)

    def _end(self, hold: "_Hold") -> None:
        """Let the guard restore the previous value, and release the lock; raise if it could not be restored."""
        try:
            if hold.guard and hold.guard.stdin:
                hold.guard.stdin.close()
                if hold.guard.wait() != 0:
                    raise FaultwatchError(
                        f"/{self._name} could not be restored",
                        f"restore it yourself: echo {hold.previous_value} >/{self._name}",
                    )
        finally:
            os.close(hold.lock_descriptor)

    def _acquire_lock(self, hold: "_Hold", operation: int) -> None:
        """Lock the setting; wait for sessions that use another value.

        ``operation`` is that of ``flock``: shared or exclusive.

        Raises
        ------
        FaultwatchError
            Another session uses a different value for too long.
        """
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while time.monotonic() < deadline:
            with suppress(BlockingIOError):
                fcntl.flock(hold.lock_descriptor, operation | fcntl.LOCK_NB)
                return
            time.sleep(_POLL_SECONDS)
        raise FaultwatchError(f"another session is using a different value of /{self._name}", "wait until it ends")


class _Hold(Struct):
    """A value at which this process holds a setting, the locked file, and the guard if the value was changed."""

    value: str
    lock_descriptor: int
    guard: subprocess.Popen[bytes] | None = None
    previous_value: str = ""
    holders: int = 1


_own_holds: dict[Path, _Hold] = {}
"""What this process holds, by file: a lock of the process would also exclude the process itself."""


def _start_guard(previous_value: str, file: Path, lock_descriptor: int) -> subprocess.Popen[bytes]:
    """Start the guard, which restores the value when its standard input ends and keeps the lock until then."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "guard", previous_value, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={},
        start_new_session=True,
        pass_fds=[lock_descriptor],
    )
