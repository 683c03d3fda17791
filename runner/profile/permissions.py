"""Finds out what the kernel lets this user record, and which setting would allow more."""

import os
from pathlib import Path

from msgspec import Struct

from runner.perf.private_mounts import has_private_tracepoint
from runner.profile.fault_access import EXCEPTION_TRACEPOINTS, has_error_codes, has_known_instructions
from runner.system.tree import Tree

_PARANOID_SETTING = "proc/sys/kernel/perf_event_paranoid"
_DEFAULT_PARANOID_LEVEL = 2
"""The level that is assumed if the setting cannot be read: the kernel's default, at which only root may record the
kernel."""
_ACCESS_REMARK = "reads and writes are not distinguished"
_TRACEPOINT_FOLDERS = ("sys/kernel/tracing/events", "sys/kernel/debug/tracing/events")


class RecordingPermissions(Struct, frozen=True):
    """What this user can record on this host.

    Attributes
    ----------
    tracepoints
        Whether tracepoints can be recorded.
    error_codes
        Whether the tracepoints of page faults can be recorded, whose error codes distinguish reads from writes.
    kernel
        Whether frames in the kernel can be recorded.
    remarks
        What cannot be recorded, each with the setting that would allow it.
    """

    tracepoints: bool
    error_codes: bool
    kernel: bool
    remarks: tuple[str, ...] = ()


def detect_recording_permissions(
    tree: Tree | None = None, *, root: bool | None = None, machine: str | None = None
) -> RecordingPermissions:
    """Detect what perf may record, from the kernel's settings.

    Parameters
    ----------
    tree
        The files below ``/``; None for those of this host.
    root
        Whether the user is root; None to find out.
    machine
        The architecture; None for that of this host.
    """
    tree = tree or Tree()
    machine = machine or os.uname().machine
    root = os.geteuid() == 0 if root is None else root
    # Find out what the kernel lets this user record: its own functions below level 2, tracepoints below level 0.
    level = tree.read_integer(_PARANOID_SETTING)
    paranoid = _DEFAULT_PARANOID_LEVEL if level is None else level
    remarks = []
    kernel = root or paranoid < 2
    if not kernel:
        remarks.append(
            f"frames in the kernel cannot be recorded: kernel.perf_event_paranoid is {paranoid}; "
            "to record them, run `sysctl kernel.perf_event_paranoid=1`"
        )
    is_readable = _is_readable(tree, "syscalls:sys_enter_mmap")
    tracepoints = is_readable and (root or paranoid < 0)
    error_codes = (
        tracepoints and has_error_codes(machine) and all(_is_readable(tree, name) for name in EXCEPTION_TRACEPOINTS)
    )
    # Explain why something cannot be recorded, and what would allow it.
    # The instructions distinguish reads from writes where they are known; elsewhere, only the error codes do.
    needs_error_codes = not has_known_instructions(machine)
    lost_information = f", and {_ACCESS_REMARK}" if needs_error_codes else ""
    if not is_readable:
        remarks.append(
            f"tracepoints cannot be read, so strace records system calls{lost_information}: "
            "to make them readable, run `mount -t tracefs tracefs /sys/kernel/tracing` as root, on a kernel with "
            "CONFIG_FTRACE_SYSCALLS"
        )
    elif not tracepoints:
        remarks.append(
            f"only root may read tracepoints, so strace records system calls{lost_information}: "
            f"to allow this user to read them, run `sysctl kernel.perf_event_paranoid=-1` (now {paranoid}) "
            "and `chmod -R o=rX /sys/kernel/tracing`"
        )
    elif not error_codes and needs_error_codes:
        remarks.append(f"this kernel does not trace page faults, so {_ACCESS_REMARK}")
    if root and tree.read_integer("proc/sys/kernel/kptr_restrict") == 2:
        remarks.append("the kernel's functions have no names: `sysctl kernel.kptr_restrict=1` makes them visible")
    return RecordingPermissions(tracepoints, error_codes, kernel, tuple(remarks))


def _is_readable(tree: Tree, tracepoint: str) -> bool:
    """Return whether a tracepoint can be read: in the host's tracefs, or in one that is mounted for perf only."""
    is_mounted = any(tree.read_text(f"{folder}/{tracepoint.replace(':', '/')}/id") for folder in _TRACEPOINT_FOLDERS)
    return is_mounted or (tree.root == Path("/") and has_private_tracepoint(tracepoint))
