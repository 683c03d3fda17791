"""Allows one measurement at a time on this host, for all users and all data directories.

The lock is a folder that every Linux host has and only the kernel can change, ``/sys/kernel``. So nobody can put a link
or a file of his own in its place, nothing has to be created or removed, and users without privileges can lock it. The
kernel releases the lock when its process ends, however it ends, and gives it to the process that has waited longest.

A user who may measure can also hold the lock for ever. ``FAULTWATCH_HOST_LOCK`` names another file or folder, such
as one that only a group may open. All runners on a host have to name the same.
"""

import fcntl
import os
import pwd
import re
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from runner.environment.secrets import hide_password
from runner.errors import FaultwatchError
from runner.execution.execution_log import log_step
from runner.system.processes import has_ended, is_stopped, read_start_time

_JOB_COMMAND = re.compile(r"\bjob run (?:--\S+ )*(\d+)\b")
_MAX_COMMAND_CHARACTERS = 200
"""Characters of a command that are shown."""


class Holder(Struct, frozen=True):
    """The process that holds the lock."""

    process: int

    def describe(self) -> str:
        """Return the user, the command and the start time of the process, and whether it is stopped."""
        if has_ended(self.process):
            return f"a process that the ended process {self.process} left behind"
        since = read_start_time(self.process)
        time = _get_user(self.process) + (f", running since {since.astimezone():%Y-%m-%d %H:%M:%S}" if since else "")
        hint = f" (stopped; `kill -CONT {self.process}` resumes it)" if is_stopped(self.process) else ""
        return f"process {self.process} ({time}): {_get_command(self.process)}{hint}"


class HostTurn:
    """The turn of a command to measure on this host. It begins when the command is ready, and ends with the context."""

    def __init__(self, lock: Path, say: Callable[[str], None], prepare: Callable[[], None] = lambda: None) -> None:
        """Create a turn that has not begun.

        Parameters
        ----------
        lock
            The file or folder to lock.
        say
            Called with a line of text if the command has to wait for another process.
        prepare
            Called whenever the turn begins, before anything is measured.
        """
        self._lock = lock
        self._say = say
        self._prepare = prepare
        self._descriptor: int | None = None

    def begin(self, say: Callable[[str], None] | None = None) -> None:
        """Wait until no other process measures on this host. Does nothing if the turn has begun.

        Parameters
        ----------
        say
            Called in place of the function of the turn; None for that function.

        Raises
        ------
        FaultwatchError
            The lock cannot be opened.
        """
        if self._descriptor is not None:
            return
        descriptor = _open_lock(self._lock)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                line = f"another measurement is running on this host; waiting for {_describe_holder(descriptor)}"
                (say or self._say)(line)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        log_step("measures alone on this host, with the lock %s", self._lock)
        self._descriptor = descriptor
        self._prepare()

    def end(self) -> None:
        """Let others measure. Does nothing if the turn has not begun."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def find_holder(lock: Path) -> Holder | None:
    """Return the process that holds a lock; None if nobody does, or a process of another container."""
    descriptor = _open_lock(lock)
    try:
        return _find_lock_holder(descriptor)
    finally:
        os.close(descriptor)


def _open_lock(lock: Path) -> int:
    """Open the lock file of the host, which must exist."""
    try:
        # Not with O_CREAT: a file that anybody can create in a shared folder is anybody's.
        return os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise FaultwatchError(
            f"the lock of this host, {lock}, cannot be opened: {error.strerror}",
            "set FAULTWATCH_HOST_LOCK to a file that all runners of this host may read",
        ) from None


def _find_lock_holder(descriptor: int) -> Holder | None:
    """Find the holder in the kernel's list of locks, which nobody can forge."""
    state = os.fstat(descriptor)
    file = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
        fields = line.split()
        # 1: FLOCK ADVISORY WRITE 20867 00:16:3657 0 EOF; a line with "->" is of a process that waits.
        if len(fields) >= 6 and fields[1] == "FLOCK" and fields[5] == file and fields[4].isdecimal():
            return Holder(int(fields[4])) if int(fields[4]) else None
    return None


def _describe_holder(descriptor: int) -> str:
    holder = _find_lock_holder(descriptor)
    return holder.describe() if holder else "a process that is not visible from here"


def _get_user(process: int) -> str:
    """Return the name of the user whose process this is."""
    try:
        uid = Path(f"/proc/{process}").stat().st_uid
    except OSError:
        return "unknown user"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _get_command(process: int) -> str:
    """Return the command line of a process in short, without passwords or control characters."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        words = []
    text = " ".join(" ".join(hide_password(word) for word in words).split())
    # The other user chose the words of the command, so they must not control this terminal.
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    shortened = text if len(text) <= _MAX_COMMAND_CHARACTERS else f"{text[:_MAX_COMMAND_CHARACTERS]}…"
    # The service starts its jobs as commands, which nobody has typed.
    job = _JOB_COMMAND.search(text)
    if not job:
        return shortened
    return (
        f"{shortened} (`faultwatch job show {job[1]}` shows its purpose, `faultwatch job pause {job[1]}` frees the "
        "host)"
    )
