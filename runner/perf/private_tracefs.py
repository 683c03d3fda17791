"""Mounts tracefs for perf alone where the host has not mounted it, in a mount namespace that ends with perf."""

import os
import subprocess
from functools import lru_cache
from pathlib import Path

from runner.execution.process_variables import BASE_VARIABLES

_TRACEFS_FOLDERS = tuple(Path(folder) for folder in ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"))
_MOUNT = 'mount -t tracefs -o nosuid,nodev,noexec tracefs /sys/kernel/tracing && exec "$@"'
_PREFIX = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _MOUNT, "sh")
_TIMEOUT_SECONDS = 10.0


def build_tracefs_prefix() -> tuple[str, ...]:
    """Return the words before a perf that records tracepoints: none if tracefs is mounted, or cannot be."""
    return _PREFIX if _list_private_tracepoints() else ()


def has_private_tracepoint(name: str) -> bool:
    """Return whether a tracepoint, ``syscalls:sys_enter_mmap``, can be read once tracefs is mounted for perf alone."""
    return name.replace(":", "/", 1) in _list_private_tracepoints()


@lru_cache
def _list_private_tracepoints() -> frozenset[str]:
    """Return the tracepoints of system calls and exceptions in a tracefs that is mounted for perf alone.

    There are none if the host has mounted tracefs, so that perf needs no other, or if this user cannot mount it.
    """
    if os.geteuid() != 0 or any(folder.is_dir() for folder in _TRACEFS_FOLDERS):
        return frozenset()
    list_names = "cd /sys/kernel/tracing/events && ls -d syscalls/sys_enter_* exceptions/*"
    try:
        result = subprocess.run(
            [*_PREFIX, "sh", "-c", list_names],
            env=dict(BASE_VARIABLES),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(result.stdout.split())
