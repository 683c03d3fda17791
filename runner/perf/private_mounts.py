"""Mounts tracefs, and a short list of kernel symbols, for perf alone, in a mount namespace that ends with it."""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from runner.perf.perf_binary import run_tool

_TRACEFS_FOLDERS = tuple(Path(folder) for folder in ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"))
_MOUNT_TRACEFS = "mount -t tracefs -o nosuid,nodev,noexec tracefs /sys/kernel/tracing"
_PREFIX = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
_KALLSYMS = Path("/proc/kallsyms")
_LANDMARK = re.compile(
    rb"^[0-9a-f]+ [A-Za-z] (?:_text|_stext|_etext|_edata|_end|_entry_trampoline|__entry_SYSCALL_64_trampoline)$", re.M
)
"""The symbols that tell perf record where the kernel lies: ``machine__get_running_kernel_start`` and
``machine__create_extra_kernel_maps`` in perf's machine.c read these, and nothing else, of all symbols."""
_MOUNT_LANDMARKS = (
    "mount -t tmpfs -o size=64k,nosuid,nodev,noexec tmpfs /proc/driver"
    ' && printf %s "$landmarks" >/proc/driver/kallsyms && mount --bind /proc/driver/kallsyms /proc/kallsyms'
)
"""The folder exists in each kernel, and perf reads nothing in it."""


def build_recording_prefix() -> tuple[str, ...]:
    """Return the words before a perf that records, and that another perf reads: none where nothing can be mounted.

    Where the host has not mounted tracefs, they mount it. They also replace the list of kernel symbols, of more than a
    hundred thousand lines, which perf record reads twice as it starts, by the few that it looks for: it then starts
    with a tenth of the CPU time. perf script, which names the kernel's functions, does not use this prefix.
    """
    steps = []
    if _list_private_tracepoints():
        steps.append(_MOUNT_TRACEFS)
    landmarks = _read_mountable_landmarks()
    if landmarks:
        steps.append(f"landmarks='{landmarks}'; {_MOUNT_LANDMARKS}")
    return _build_prefix(" && ".join(f"{{ {step}; }}" for step in steps)) if steps else ()


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
    return frozenset(_run([*_build_prefix(_MOUNT_TRACEFS), "sh", "-c", list_names]).split())


@lru_cache
def _read_mountable_landmarks() -> str:
    """Return the kernel symbols that perf record looks for, as lines; empty if they cannot be mounted for it."""
    if os.geteuid() != 0:
        return ""
    try:
        symbols = _KALLSYMS.read_bytes()
    except OSError:
        return ""
    landmarks = b"\n".join(_LANDMARK.findall(symbols)).decode("ascii")
    if " _text\n" not in landmarks:
        return ""  # Without it, perf cannot say where the kernel lies.
    mounted = _run([*_build_prefix(f"landmarks='{landmarks}'; {_MOUNT_LANDMARKS}"), "cat", str(_KALLSYMS)])
    return landmarks if mounted == landmarks else ""


def _build_prefix(script: str) -> tuple[str, ...]:
    """Return the words that run a script in a mount namespace, and then become the command that follows them."""
    return (*_PREFIX, f'{script} && exec "$@"', "sh")


def _run(words: Sequence[str]) -> str:
    """Return what a command prints; empty if it fails."""
    result = run_tool(words)
    return "" if result is None or result.returncode else result.stdout
