"""Allows one measurement at a time on this host, for all users and all data directories.

The lock is a folder that every Linux host has and only the kernel can change, ``/sys/kernel``. So nobody can put a link
or a file of his own in its place, nothing has to be created or removed, and users without privileges can lock it. The
kernel releases the lock when its process ends, however it ends.

A command holds the lock while it measures. It lets others measure while it builds, waits for the service, or goes on to
its next commit; what it builds meanwhile is stopped, so that whoever measures has the host for itself.

A user who may measure can also hold the lock for ever. ``FAULTWATCH_HOST_LOCK`` names another file or folder, such
as one that only a group may open. All runners on a host have to name the same.
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
from runner.system.paused import Clock, pause_descendants
from runner.system.processes import has_ended, is_stopped, read_start_time

_JOB_COMMAND = re.compile(r"\bjob run (?:--\S+ )*(\d+)\b")
_MAX_COMMAND_CHARACTERS = 200
"""The largest number of characters of a command that are shown."""
_LOOK_SECONDS = 0.1
"""The pause between two checks of who measures, while this command builds."""
_SHORT_LOOK_SECONDS = 0.025
"""The same while others are to have their turn: a turn that begins and ends between two checks is not seen."""
_HANDOVER_SECONDS = 0.3
"""How long nobody must have held the lock before a command that gave way measures again."""


class Holder(Struct, frozen=True):
    """The process that holds the lock."""

    process: int

    def describe(self) -> str:
        """Return the user, the command and the start time of the process, and whether it is stopped."""
        if has_ended(self.process):
            return f"a process that the ended process {self.process} left behind"
        started_at = read_start_time(self.process)
        owner = _get_user(self.process) + (
            f", running since {started_at.astimezone():%Y-%m-%d %H:%M:%S}" if started_at else ""
        )
        hint = f" (stopped; `kill -CONT {self.process}` resumes it)" if is_stopped(self.process) else ""
        return f"process {self.process} ({owner}): {_get_command(self.process)}{hint}"


class HostTurn:
    """The turn of a command to measure on this host. It begins when the command is ready, and ends with the context."""

    def __init__(
        self, lock: Path, print_message: Callable[[str], None], prepare: Callable[[], None] = lambda: None
    ) -> None:
        """Create a turn that has not begun.

        Parameters
        ----------
        lock
            The file or folder to lock.
        print_message
            Called with a line of text if the command has to wait for another process.
        prepare
            Called whenever the turn begins, before anything is measured.
        """
        self._lock = lock
        self._print_message = print_message
        self._prepare = prepare
        self._descriptor: int | None = None
        self._announced_process: int | None = None  # the process for which this one has said that it waits

    def begin(self, print_message: Callable[[str], None] | None = None) -> None:
        """Wait until no other process measures on this host. Does nothing if the turn has begun.

        Parameters
        ----------
        print_message
            Called in place of the function of the turn; None for that function.

        Raises
        ------
        FaultwatchError
            The lock cannot be opened.
        """
        if self._descriptor is not None:
            return
        self._acquire(print_message or self._print_message)
        log_step("measures alone on this host, with the lock %s", self._lock)
        self._prepare()

    def _acquire(self, print_message: Callable[[str], None]) -> None:
        """Wait for the lock; say for whom, once for each process."""
        descriptor = _open_lock(self._lock)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder, waiting_processes = _read_locks(descriptor)
                if holder is None or holder.process != self._announced_process:
                    line = _describe_line(holder, waiting_processes)
                    print_message(f"another measurement is running on this host; waiting for {line}")
                    self._announced_process = holder.process if holder else None
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def give_way(self) -> None:
        """Let the processes that wait measure first. Does nothing if nobody waits, or the turn has not begun."""
        if self._descriptor is None:
            return
        _, waiting_list = _read_locks(self._descriptor)
        waiting_processes = set(waiting_list)
        if not waiting_processes:
            return
        log_step("lets %d other commands measure first", len(waiting_processes))
        self.end()
        # The kernel wakes one of them after the other, and whoever locks first has the lock: so wait until each had it,
        # or nobody wants it.
        served_processes: set[int] = set()
        last_used_at = time.monotonic()
        while time.monotonic() < last_used_at + _HANDOVER_SECONDS:
            if holder := find_holder(self._lock):
                served_processes.add(holder.process)
                last_used_at = time.monotonic()
                if waiting_processes <= served_processes and holder.process not in waiting_processes:
                    break
            time.sleep(_SHORT_LOOK_SECONDS)
        self._acquire(self._print_message)

    @contextmanager
    def pause(self, builders: Collection[int] = (), clock: Clock | None = None) -> Iterator[None]:
        """Let others measure during a context in which this command does not; then wait for the turn again.

        What the context starts is stopped while another command measures. Does nothing if the turn has not begun.

        Parameters
        ----------
        builders
            Processes that were started before and whose descendants are stopped too.
        clock
            Stands still while what the context starts is stopped.
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
        is_interrupted = True  # By Ctrl-C or the like, which is no Exception.
        try:
            yield
            is_interrupted = False
        except Exception:
            is_interrupted = False
            raise
        finally:
            context_has_ended.set()
            stopping_thread.join()
            if not is_interrupted:  # otherwise the command ends, and measures no more
                self._acquire(self._print_message)

    def _stop_while_others_measure(
        self, context_has_ended: Event, other_children: Collection[int], clock: Clock | None
    ) -> None:
        """Pause the descendants of this process's children while others measure, except those of ``other_children``."""
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
    """Return the process that holds a lock; None if nobody does, or a process of another container."""
    descriptor = _open_lock(lock)
    try:
        return _read_locks(descriptor)[0]
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


def _read_locks(descriptor: int) -> tuple[Holder | None, Sequence[int]]:
    """Return who holds a lock, and the processes that wait for it, from the kernel's list, which nobody can forge."""
    state = os.fstat(descriptor)
    file = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    holder, waiting_processes = None, []
    for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
        # 1: FLOCK ADVISORY WRITE 20867 00:16:3657 0 EOF, or 1: -> FLOCK … of a process that waits. A process of another
        # container has the number 0.
        fields = line.replace("-> ", "").split()
        if len(fields) < 6 or fields[1] != "FLOCK" or fields[5] != file or not fields[4].isdecimal():
            continue
        if "->" in line:
            waiting_processes.append(int(fields[4]))
        elif int(fields[4]):
            holder = Holder(int(fields[4]))
    return holder, waiting_processes


def _describe_line(holder: Holder | None, waiting_processes: Sequence[int]) -> str:
    """Return for whom a process waits that comes last."""
    holder_text = holder.describe() if holder else "a process that is not visible from here"
    other_count = len(waiting_processes)
    if not other_count:
        return holder_text
    return f"{holder_text}; {other_count} more {'is' if other_count == 1 else 'are'} waiting ahead of this one"


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


def _may_signal(process: int) -> bool:
    """Return whether this user may pause and end a process."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _get_command(process: int) -> str:
    """Return the command line of a process in short, without passwords or control characters."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        words = []
    text = " ".join(" ".join(hide_password(word) for word in words).split())
    # The other user chose the words of the command, so they must not control this terminal.
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    short_command = text if len(text) <= _MAX_COMMAND_CHARACTERS else f"{text[:_MAX_COMMAND_CHARACTERS]}…"
    # The service starts its jobs as commands, which nobody has typed.
    job = _JOB_COMMAND.search(text)
    if not job or not _may_signal(process):  # Another user's jobs are of a service that may not be known here.
        return short_command
    return (
        f"{short_command} (`faultwatch job show {job[1]}` shows its purpose, `faultwatch job pause {job[1]}` frees the "
        "host)"
    )
