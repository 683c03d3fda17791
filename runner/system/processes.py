"""Identifies processes by their id and their start time, because the kernel reuses process ids."""

import hashlib
import os
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from runner.system.tree import Tree

_START_TIME_FIELD = 19
"""The index of the start time among the fields of ``/proc/PID/stat`` after the name, which may contain spaces."""
_DIGEST_DIGITS = 8


def get_start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the boot; None if it does not exist or is hidden."""
    fields = _read_status(pid)
    return int(fields[_START_TIME_FIELD]) if len(fields) > _START_TIME_FIELD else None


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal."""
    return _read_status(pid)[:1] == ["T"]


def has_ended(pid: int) -> bool:
    """Return whether no process has this id; correct even if the processes of other users are hidden."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _read_status(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` after the name; empty if the process does not exist or is hidden."""
    return (Tree().read_text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()


@lru_cache
def read_own_name() -> str:
    """Return the unique name of this process: ``PID-START-MACHINE``."""
    return get_process_name(os.getpid())


def get_process_name(pid: int) -> str:
    """Return the unique name of a process, in the form of :func:`read_own_name`."""
    return f"{pid}-{get_start_ticks(pid) or 0}-{_identify_machine()}"


def is_alive(name: str) -> bool:
    """Return whether the process with a unique name may still run. An invalid name belongs to no process.

    The names may come from a folder that several machines share. Processes on other machines are invisible here, so
    they count as alive.
    """
    parts = name.split("-")
    if len(parts) != 3 or not parts[0].isdecimal():
        return False
    pid, start, machine = parts
    return machine != _identify_machine() or start == str(get_start_ticks(int(pid)))


@lru_cache
def _identify_machine() -> str:
    """Return a short digest that identifies this machine."""
    try:
        machine_id = Path("/etc/machine-id").read_bytes()
    except OSError:
        machine_id = b""
    return hashlib.sha256(machine_id + os.uname().nodename.encode()).hexdigest()[:_DIGEST_DIGITS]


def read_start_time(pid: int) -> datetime | None:
    """Return the time at which a process started, to the second; None if it cannot be seen."""
    start_ticks = get_start_ticks(pid)
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    booted_at = next((int(line.split()[1]) for line in lines if line.startswith("btime ")), None)
    if start_ticks is None or booted_at is None:
        return None
    return datetime.fromtimestamp(booted_at + start_ticks // os.sysconf("SC_CLK_TCK"), UTC)
