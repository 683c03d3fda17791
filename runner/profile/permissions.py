"""Finds out what the kernel lets this user record, and which setting would allow more."""

import os
from dataclasses import dataclass

from runner.system.tree import Tree

_PARANOID = "proc/sys/kernel/perf_event_paranoid"
_EVENTS = ("sys/kernel/tracing/events", "sys/kernel/debug/tracing/events")


@dataclass(frozen=True, slots=True)
class RecordingPermissions:
    """What this user can record on this host.

    Attributes
    ----------
    tracepoints
        Whether tracepoints of system calls and of exceptions can be recorded.
    kernel
        Whether frames in the kernel can be recorded.
    remarks
        What cannot be recorded, with the setting that would allow it.
    """

    tracepoints: bool
    kernel: bool
    remarks: tuple[str, ...] = ()


def recording_permissions(tree: Tree | None = None, *, root: bool | None = None) -> RecordingPermissions:
    """Return what can be recorded, from the kernel's settings."""
    tree = tree or Tree()
    root = os.geteuid() == 0 if root is None else root
    level = tree.integer(_PARANOID)
    paranoid = 2 if level is None else level
    remarks = []
    kernel = root or paranoid < 2
    if not kernel:
        remarks.append(
            f"frames in the kernel cannot be recorded: kernel.perf_event_paranoid is {paranoid}; "
            "`sysctl kernel.perf_event_paranoid=1` allows it"
        )
    readable = any(tree.text(f"{folder}/syscalls/sys_enter_mmap/id") for folder in _EVENTS)
    tracepoints = readable and (root or paranoid < 0)
    if not readable:
        remarks.append(
            "tracepoints cannot be read, so strace counts system calls, and reads and writes are not distinguished: "
            "`mount -t tracefs tracefs /sys/kernel/tracing` as root, and a kernel with CONFIG_FTRACE_SYSCALLS"
        )
    elif not tracepoints:
        remarks.append(
            "tracepoints are for root only, so strace counts system calls, and reads and writes are not distinguished: "
            f"`sysctl kernel.perf_event_paranoid=-1` allows them (it is {paranoid}), "
            "with `chmod -R o=rX /sys/kernel/tracing`"
        )
    if root and tree.integer("proc/sys/kernel/kptr_restrict") == 2:
        remarks.append("the kernel's functions have no names: `sysctl kernel.kptr_restrict=1` gives them")
    return RecordingPermissions(tracepoints, kernel, tuple(remarks))
