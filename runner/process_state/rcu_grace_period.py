"""Expedites the kernel's RCU grace period, for which a process waits when it is moved to another control group.

A grace period lasts 10 ms or more, longer than everything else at the start of a sample; if expedited, less than 1 ms.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from runner.system.tree import Tree

_SWITCH_FILE = "sys/kernel/rcu_expedited"
_NOTE_FOLDER = "run/faultwatch"
_NOTE_FILE = f"{_NOTE_FOLDER}/rcu_expedited"
"""Contains the value to restore while the switch is on. Only root can write the note and the switch, and a reboot
resets both."""
_MAX_WAIT_SECONDS = 0.1
"""Seconds to wait for the switch; another process normally needs it for a hundredth of that."""
_POLL_SECONDS = 0.001
"""Seconds between two attempts to lock the switch."""
_MAX_VALUE_BYTES = 16
"""The largest number of bytes that are read of the switch's value, which is a small number."""


@contextmanager
def expedite_grace_periods(tree: Tree) -> Iterator[None]:
    """Expedite RCU grace periods within the context, in which nothing is measured; change nothing if not allowed.

    Expediting interrupts all processors, so it must not stay switched on. Concurrent users wait for each other, so that
    none of them restores a value that another one has set. They do not wait for long, because the process that has the
    switch may be stopped. If the runner is killed, a note contains the value for :func:`restore_grace_period`.
    """
    switch = _lock_switch(tree)
    if switch is None:
        yield
        return
    try:
        _restore_value(switch, tree)  # A runner that was killed may have left the switch on.
        previous_value = os.pread(switch, _MAX_VALUE_BYTES, 0)
        if not _save_note(previous_value, tree):
            yield
            return
        os.pwrite(switch, b"1", 0)
        try:
            yield
        finally:
            _restore_value(switch, tree)
    finally:
        os.close(switch)


def restore_grace_period(tree: Tree) -> None:
    """Restore the switch if a runner was killed while it expedited grace periods."""
    if not tree.path(_NOTE_FILE).exists():
        return
    switch = _lock_switch(tree)
    if switch is not None:
        try:
            _restore_value(switch, tree)
        finally:
            os.close(switch)


def _lock_switch(tree: Tree) -> int | None:
    """Open and lock the switch; return None if this user may not change it, or if another process keeps it locked."""
    try:
        switch = os.open(tree.path(_SWITCH_FILE), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    deadline = time.monotonic() + _MAX_WAIT_SECONDS
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(switch, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return switch
        if time.monotonic() > deadline:
            os.close(switch)
            return None
        time.sleep(_POLL_SECONDS)


def _save_note(previous_value: bytes, tree: Tree) -> bool:
    """Write the note with the value to restore; return whether that was possible."""
    try:
        tree.path(_NOTE_FOLDER).mkdir(mode=0o755, exist_ok=True)
        note = os.open(
            tree.path(_NOTE_FILE), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(note, previous_value)
        finally:
            os.close(note)
    except OSError:  # This user may not write it, or there is no space for it.
        return False
    return True


def _restore_value(switch: int, tree: Tree) -> None:
    """Restore the value in the note, if there is a note. The caller must have locked the switch."""
    with suppress(OSError):
        previous_value = tree.path(_NOTE_FILE).read_bytes()
        if previous_value.strip().isdigit():  # It is empty if the runner was killed before it changed anything.
            os.pwrite(switch, previous_value, 0)
        tree.path(_NOTE_FILE).unlink()
