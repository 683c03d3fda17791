"""Allows one measurement at a time on this host, across all users and all data directories.

The lock is an advisory lock on ``/sys/kernel``, a folder that every Linux host has and that only the kernel can change.
So nobody can replace it by a link or a file, nothing has to be created or removed, and users without privileges can
lock it. The kernel releases the lock when the process that holds it ends, even if it is killed.

A command holds the lock while it measures. It lets others measure while it builds, waits for the service, or continues
with its next commit. Its builds are stopped while another command measures, so that only the measurement runs.

A user who may measure can also hold the lock for ever. ``FAULTWATCH_HOST_LOCK`` can name another file or folder, such
as one that only a group may open. All runners on a host have to use the same lock.
"""

import fcntl
import os
import pwd
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from msgspec import Struct

from runner.environment.secrets import hide_password
from runner.errors import FaultwatchError
from runner.execution.execution_log import log_step
from runner.system.descendants import list_children
from runner.system.pause_processes import Clock, pause_descendants
from runner.system.processes import has_ended, is_stopped, read_start_time

_JOB_COMMAND = re.compile(r"\bjob run (?:--\S+ )*(\d+)\b")
_MAX_COMMAND_CHARACTERS = 200
"""The largest number of characters of a command that are shown."""
_LOOK_SECONDS = 0.1
"""Seconds between two checks of whether another command measures, while this command builds."""
_SHORT_LOOK_SECONDS = 0.025
"""Seconds between two checks of who measures, after this command gave way. A turn between two checks is not noticed."""
_HANDOVER_SECONDS = 0.3
"""Seconds for which the lock must have been free before a command that gave way measures again."""


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


class HostTurn:
    """The turn of a command to measure on this host: from :meth:`begin` to the end of the context."""

    def __init__(
        self, lock: Path, print_message: Callable[[str], None], on_begin: Callable[[], None] = lambda: None
    ) -> None:
        """Create a turn that has not begun.

        Parameters
        ----------
        lock
            The file or folder to lock.
        print_message
            Called with a line of text if the command has to wait for another process.
        on_begin
            Called whenever the turn begins, before anything is measured.
        """
        self._lock = lock
        self._print_message = print_message
        self._on_begin = on_begin
        self._descriptor: int | None = None
        self._announced_pid: int | None = None  # The process that the last message said this one is waiting for.

    def begin(self, print_message: Callable[[str], None] | None = None) -> None:
        """Wait until no other process measures on this host. Does nothing if the turn has begun.

        Parameters
        ----------
        print_message
            Called instead of the turn's own function; None to call the turn's own.

        Raises
        ------
        FaultwatchError
            The lock cannot be opened.
        """
        if self._descriptor is not None:
            return
        self._acquire(print_message or self._print_message)
        log_step("measuring alone on this host, holding the lock %s", self._lock)
        self._on_begin()

    def _acquire(self, print_message: Callable[[str], None]) -> None:
        """Wait for the lock; print which process holds it, once for each process."""
        descriptor = _open_lock(self._lock)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder, waiting_processes = _read_locks(descriptor)
                if holder is None or holder.pid != self._announced_pid:
                    processes_ahead = _describe_processes_ahead(holder, waiting_processes)
                    print_message(f"another measurement is running on this host; waiting for {processes_ahead}")
                    self._announced_pid = holder.pid if holder else None
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def give_way(self) -> None:
        """Let the waiting processes measure first. Does nothing if none waits, or the turn has not begun."""
        if self._descriptor is None:
            return
        _, waiting_list = _read_locks(self._descriptor)
        waiting_processes = set(waiting_list)
        if not waiting_processes:
            return
        log_step("letting other commands measure first: %d", len(waiting_processes))
        self.end()
        # Locks are not handed over in a fixed order, and this process could overtake the waiting ones. So wait until
        # each of them has had the lock, or nobody wants it any more.
        served_processes: set[int] = set()
        last_used_at = time.monotonic()
        while time.monotonic() < last_used_at + _HANDOVER_SECONDS:
            if holder := find_holder(self._lock):
                served_processes.add(holder.pid)
                last_used_at = time.monotonic()
                if waiting_processes <= served_processes and holder.pid not in waiting_processes:
                    break
            time.sleep(_SHORT_LOOK_SECONDS)
        self._acquire(self._print_message)

    @contextmanager
    def pause(self, builders: Collection[int] = (), clock: Clock | None = None) -> Iterator[None]:
        """Let others measure during the context, in which this command does not measure; then wait for the turn again.

        Processes that are started in the context are stopped while another command measures. Does nothing if the turn
        has not begun.

        Parameters
        ----------
        builders
            Processes that were started earlier, and whose descendants are to be stopped as well.
        clock
            A clock that is stopped while these processes are stopped.

        Raises
        ------
        FaultwatchError
            The lock cannot be opened any more.
        """
        if self._descriptor is None:
            yield
            return
        self.end()
        context_has_ended = Event()
        other_children = list_children(os.getpid()) - set(builders)
        stopping_thread = Thread(
            target=self._stop_while_others_measure, args=(context_has_ended, other_children, clock), daemon=True
        )
        stopping_thread.start()
        is_interrupted = True  # Stays true after Ctrl-C and the like, which are not subclasses of Exception.
        try:
            yield
            is_interrupted = False
        except Exception:
            is_interrupted = False
            raise
        finally:
            context_has_ended.set()
            stopping_thread.join()
            if not is_interrupted:  # An interrupted command ends, so it needs no further turn.
                self._acquire(self._print_message)

    def _stop_while_others_measure(
        self, context_has_ended: Event, other_children: Collection[int], clock: Clock | None
    ) -> None:
        """Stop this process's children and their descendants while others measure, except ``other_children``."""
        while not context_has_ended.wait(_LOOK_SECONDS):
            if find_holder(self._lock):
                with pause_descendants(list_children(os.getpid()) - set(other_children), clock):
                    while find_holder(self._lock) and not context_has_ended.wait(_LOOK_SECONDS):
                        pass

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
    """Return the process that holds a lock; None if nobody does, or a process of another container.

    Raises
    ------
    FaultwatchError
        The lock cannot be opened.
    """
    descriptor = _open_lock(lock)
    try:
        return _read_locks(descriptor)[0]
    finally:
        os.close(descriptor)


def _open_lock(lock: Path) -> int:
    """Open the lock file of the host; raise if it does not exist, or may not be opened."""
    try:
        # Without O_CREAT: in a shared folder, any user could create the file first, and own it.
        return os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise FaultwatchError(
            f"this host's lock, {lock}, cannot be opened: {error.strerror}",
            "set FAULTWATCH_HOST_LOCK to a file that all runners on this host can read",
        ) from None


def _read_locks(descriptor: int) -> tuple[Holder | None, Sequence[int]]:
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


def _describe_processes_ahead(holder: Holder | None, waiting_processes: Sequence[int]) -> str:
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
