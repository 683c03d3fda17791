"""Allows one measurement at a time on this host, across all users and all data directories.

A command holds the lock of the host while it measures. It lets others measure while it builds, waits for the service,
or continues with its next commit.
"""

import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.execution.execution_log import log_step
from runner.host.builds_while_others_measure import stop_builds_while_others_measure
from runner.host.host_lock import describe_processes_ahead, find_holder, open_lock, read_locks
from runner.system.pause_processes import Clock

_SHORT_POLL_SECONDS = 0.025
"""Seconds between two checks of who measures, after this command gave way. A turn between two checks is not noticed."""
_HANDOVER_SECONDS = 0.3
"""Seconds for which the lock must have been free before a command that gave way measures again."""


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
        descriptor = open_lock(self._lock)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder, waiting_processes = read_locks(descriptor)
                if holder is None or holder.pid != self._announced_pid:
                    processes_ahead = describe_processes_ahead(holder, waiting_processes)
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
        _, waiting_list = read_locks(self._descriptor)
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
            time.sleep(_SHORT_POLL_SECONDS)
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
        is_interrupted = True  # Stays true after Ctrl-C and the like, which are not subclasses of Exception.
        try:
            with stop_builds_while_others_measure(self._lock, builders, clock):
                yield
            is_interrupted = False
        except Exception:
            is_interrupted = False
            raise
        finally:
            if not is_interrupted:  # An interrupted command ends, so it needs no further turn.
                self._acquire(self._print_message)

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
