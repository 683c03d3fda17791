"""Mounts tracefs and a short list of kernel symbols for perf only, in a mount namespace that ends with perf."""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from runner.perf.perf_binary import run_tool

_TRACEFS_FOLDERS = tuple(Path(folder) for folder in ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"))
_MOUNT_TRACEFS = (
    "[ -d /sys/kernel/tracing/events ] || mount -t tracefs -o nosuid,nodev,noexec tracefs /sys/kernel/tracing"
)
"""Looks again, because another program may have mounted tracefs since this process looked for it."""
_PREFIX = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
_KALLSYMS = Path("/proc/kallsyms")
_LANDMARK = re.compile(
    rb"^[0-9a-f]+ [A-Za-z] (?:_text|_stext|_etext|_edata|_end|_entry_trampoline|__entry_SYSCALL_64_trampoline)$", re.M
)
"""The only symbols that perf record reads, to find the kernel in memory (``machine__get_running_kernel_start`` and
``machine__create_extra_kernel_maps`` in perf's machine.c)."""
_MOUNT_LANDMARKS = (
    "mount -t tmpfs -o size=64k,nosuid,nodev,noexec tmpfs /proc/driver"
    ' && printf %s "$landmarks" >/proc/driver/kallsyms && mount --bind /proc/driver/kallsyms /proc/kallsyms'
)
"""Mounts the list by way of ``/proc/driver``: every kernel has this folder, and perf reads nothing in it."""


def build_recording_prefix() -> tuple[str, ...]:
    """Return the words that precede the command of perf record; empty if nothing can be mounted.

    They mount tracefs if the host has not mounted it. They also replace the list of kernel symbols, which has more than
    a hundred thousand lines and is read twice when perf record starts, by the few symbols that perf record needs: it
    then starts with a tenth of the CPU time. They must not precede perf script, which needs the names of the kernel's
    functions.
    """
    steps = []
    if _list_private_tracepoints():
        steps.append(_MOUNT_TRACEFS)
    landmarks = _read_mountable_landmarks()
    if landmarks:
        steps.append(f"landmarks='{landmarks}'; {_MOUNT_LANDMARKS}")
    return _build_prefix(" && ".join(f"{{ {step}; }}" for step in steps)) if steps else ()


def has_private_tracepoint(name: str) -> bool:
    """Return whether a tracefs that is mounted for perf only has a tracepoint, such as ``syscalls:sys_enter_mmap``."""
    return name.replace(":", "/", 1) in _list_private_tracepoints()


@lru_cache
def _list_private_tracepoints() -> frozenset[str]:
    """Return the tracepoints of system calls and exceptions in a tracefs that is mounted for perf only.

    Empty if the host has mounted tracefs, so that perf needs no mount of its own, or if this user cannot mount it.
    """
    if os.geteuid() != 0 or any(folder.is_dir() for folder in _TRACEFS_FOLDERS):
        return frozenset()
    list_names = "cd /sys/kernel/tracing/events && ls -d syscalls/sys_enter_* exceptions/*"
    return frozenset(_run([*_build_prefix(_MOUNT_TRACEFS), "sh", "-c", list_names]).split())


@lru_cache
def _read_mountable_landmarks() -> str:
    """Return the kernel symbols that perf record needs, as lines; empty if this list cannot be mounted for it."""
    if os.geteuid() != 0:
        return ""
    try:
        symbols = _KALLSYMS.read_bytes()
    except OSError:
        return ""
    landmarks = b"\n".join(_LANDMARK.findall(symbols)).decode("ascii")
    if " _text\n" not in landmarks:
        return ""  # Without this symbol, perf cannot find the kernel in memory.
    mounted = _run([*_build_prefix(f"landmarks='{landmarks}'; {_MOUNT_LANDMARKS}"), "cat", str(_KALLSYMS)])
    return landmarks if mounted == landmarks else ""


def _build_prefix(script: str) -> tuple[str, ...]:
    """Return the words that run a script in a new mount namespace, and then execute the command that follows them."""
    return (*_PREFIX, f'{script} && exec "$@"', "sh")


def _run(words: Sequence[str]) -> str:
    """Return what a command prints; empty if it fails."""
    result = run_tool(words)
    return "" if result is None or result.returncode else result.stdout
