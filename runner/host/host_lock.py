"""The lock of this host: who holds it, and who waits for it.

The lock is an advisory lock on ``/sys/kernel``, a folder that every Linux host has and that only the kernel can change.
So nobody can replace it by a link or a file, nothing has to be created or removed, and users without privileges can
lock it. The kernel releases the lock when the process that holds it ends, even if it is killed.

A user who may measure can also hold the lock for ever. ``FAULTWATCH_HOST_LOCK`` can name another file or folder, such
as one that only a group may open. All runners on a host have to use the same lock.
"""

import os
import pwd
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from runner.environment.secrets import hide_password
from runner.errors import FaultwatchError
from runner.system.processes import has_ended, is_stopped, read_start_time

_JOB_COMMAND = re.compile(r"\bjob run (?:--\S+ )*(\d+)\b")
_MAX_COMMAND_CHARACTERS = 200
"""The largest number of characters of a command that are shown."""


class Holder(Struct, frozen=True):
    """The process that holds the lock."""

    pid: int

    def describe(self) -> str:
        """Return the user, the command and the start time of the process, and whether it is stopped."""
        if has_ended(self.pid):
            return f"a process left behind by process {self.pid}, which has ended"
        started_at = read_start_time(self.pid)
        owner = _get_user(self.pid) + (
            f", running since {started_at.astimezone():%Y-%m-%d %H:%M:%S}" if started_at else ""
        )
        hint = f" (stopped; `kill -CONT {self.pid}` resumes it)" if is_stopped(self.pid) else ""
        return f"process {self.pid} ({owner}): {_describe_command(self.pid)}{hint}"


def find_holder(lock: Path) -> Holder | None:
    """Return the process that holds a lock; None if nobody does, or a process of another container.

    Raises
    ------
    FaultwatchError
        The lock cannot be opened.
    """
    descriptor = open_lock(lock)
    try:
        return read_locks(descriptor)[0]
    finally:
        os.close(descriptor)


def open_lock(lock: Path) -> int:
    """Open the lock file of the host; raise if it does not exist, or may not be opened."""
    try:
        # Without O_CREAT: in a shared folder, any user could create the file first, and own it.
        return os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise FaultwatchError(
            f"this host's lock, {lock}, cannot be opened: {error.strerror}",
            "set FAULTWATCH_HOST_LOCK to a file that all runners on this host can read",
        ) from None


def read_locks(descriptor: int) -> tuple[Holder | None, Sequence[int]]:
    """Return who holds a lock and which processes wait for it, from the kernel's list, which cannot be forged."""
    status = os.fstat(descriptor)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    holder, waiting_processes = None, []
    for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
        # "1: FLOCK ADVISORY WRITE 20867 00:16:3657 0 EOF" is a holder, and "1: -> FLOCK …" a process that waits. A
        # process of another container has the number 0.
        fields = line.replace("-> ", "").split()
        if len(fields) < 6 or fields[1] != "FLOCK" or fields[5] != file or not fields[4].isdecimal():
            continue
        if "->" in line:
            waiting_processes.append(int(fields[4]))
        elif int(fields[4]):
            holder = Holder(int(fields[4]))
    return holder, waiting_processes


def describe_processes_ahead(holder: Holder | None, waiting_processes: Sequence[int]) -> str:
    """Return for which processes a newcomer has to wait, as the end of a message."""
    holder_text = holder.describe() if holder else "a process that is not visible from here"
    other_count = len(waiting_processes)
    if not other_count:
        return holder_text
    return f"{holder_text}; {other_count} more {'is' if other_count == 1 else 'are'} waiting ahead of this command"


def _get_user(pid: int) -> str:
    """Return the name of the user whose process this is."""
    try:
        uid = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return "unknown user"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _may_signal(pid: int) -> bool:
    """Return whether this user may stop and kill a process."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _describe_command(pid: int) -> str:
    """Return the command line of a process, shortened, and without passwords or control characters.

    If it is a job that this user may control, the commands that show and pause it follow.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        words = []
    text = " ".join(" ".join(hide_password(word) for word in words).split())
    # Another user may have chosen the words of the command: they must not control this terminal.
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    short_command = text if len(text) <= _MAX_COMMAND_CHARACTERS else f"{text[:_MAX_COMMAND_CHARACTERS]}…"
    # The service starts its jobs as commands that the user has not typed, so explain them.
    job = _JOB_COMMAND.search(text)
    if not job or not _may_signal(pid):  # Another user's job may belong to a service that is not known here.
        return short_command
    return (
        f"{short_command} (`faultwatch job show {job[1]}` shows its purpose, `faultwatch job pause {job[1]}` frees the "
        "host)"
    )
