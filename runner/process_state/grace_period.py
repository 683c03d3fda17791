"""Expedites the RCU grace period of the kernel, for which moving a process to another control group waits.

It lasts ten milliseconds or more, longer than everything else at the start of a sample; expedited, less than one.
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
"""Holds the value to restore while the switch is on. Only root can write both, and a reboot resets both."""
_MAX_WAIT_SECONDS = 0.1
"""Others need the switch for a hundredth of that."""
_POLL_SECONDS = 0.001
"""Seconds between two attempts to lock the switch."""
_MAX_VALUE_BYTES = 16
"""The largest part of the switch's value that is read: it is a number."""


@contextmanager
def expedite_grace_periods(tree: Tree) -> Iterator[None]:
    """Expedite RCU grace periods while nothing is measured; change nothing if that is not allowed.

    Expediting interrupts all processors, so it must not stay switched on. Concurrent users wait for each other, so that
    none of them restores a value that another one has set; but not for long, because the process that has the switch
    may be stopped. If the runner is killed meanwhile, a note keeps the value for :func:`restore_grace_period`.
    """
    switch = _lock_switch(tree)
    if switch is None:
        yield
        return
    try:
        _restore_value(switch, tree)
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
    """Restore the value that a runner has left behind that was killed while it had expedited grace periods."""
    if not tree.path(_NOTE_FILE).exists():
        return
    switch = _lock_switch(tree)
    if switch is not None:
        try:
            _restore_value(switch, tree)
        finally:
            os.close(switch)


def _lock_switch(tree: Tree) -> int | None:
    """Open and lock the switch; None if this user may not change it, or if another process keeps it."""
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
    """Note the value to restore; return whether that was possible."""
    try:
        tree.path(_NOTE_FOLDER).mkdir(mode=0o755, exist_ok=True)
        note = os.open(
            tree.path(_NOTE_FILE), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError:
        return False
    try:
        os.write(note, previous_value)
    finally:
        os.close(note)
    return True


def _restore_value(switch: int, tree: Tree) -> None:
    """Restore the noted value, if there is a note. While the switch is locked, nobody else uses it."""
    with suppress(OSError):
        previous_value = tree.path(_NOTE_FILE).read_bytes()
        if previous_value.strip().isdigit():  # Empty if the runner was killed before it changed anything.
            os.pwrite(switch, previous_value, 0)
        tree.path(_NOTE_FILE).unlink()
