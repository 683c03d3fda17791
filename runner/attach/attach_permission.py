"""Decides whether this user may observe a process, and says how to permit it if not."""

import os
import pwd
from contextlib import suppress

from msgspec import Struct

from runner.attach.process_table import LiveProcess
from runner.errors import FaultwatchError
from runner.profile.permissions import RecordingPermissions
from runner.system.capabilities import PERFMON, SYS_ADMIN, SYS_PTRACE, has_capability
from runner.system.tree import Tree

_PARANOID_SETTING = "proc/sys/kernel/perf_event_paranoid"
_FORBIDDEN_LEVEL = 3
"""The kernels of Debian and Ubuntu forbid perf to ordinary users at this level and above."""
_ROOT_REMEDY = "give this container the capabilities PERFMON and SYS_PTRACE"
"""What root is advised, who lacks these capabilities only in a container."""


class Observer(Struct, frozen=True):
    """The user of this command, and what the kernel permits this user."""

    uid: int
    may_record: bool
    """Whether the user may record everything, as root may."""
    may_inspect: bool
    """Whether the user may inspect the processes of other users."""


def read_observer(tree: Tree) -> Observer:
    """Return this user with the user's capabilities."""
    may_record = has_capability(tree, SYS_ADMIN) or has_capability(tree, PERFMON)
    return Observer(os.geteuid(), may_record, has_capability(tree, SYS_PTRACE))


def require_permission(tree: Tree, process: LiveProcess, observer: Observer) -> None:
    """Raise if the kernel does not let this user observe a process.

    Raises
    ------
    FaultwatchError
        The user may not observe the process; the remedy says how to permit it.
    """
    remedy = "run the command with sudo" if observer.uid else _ROOT_REMEDY
    owner = read_owner(tree, process.pid)
    if owner is None:
        raise FaultwatchError(
            f"process {process.pid} has ended, or is hidden from this user",
            f"name a process that is running, or {remedy}",
        )
    if owner != observer.uid and not (observer.may_record and observer.may_inspect):
        raise FaultwatchError(
            f"process {process.pid} belongs to {get_user_name(owner)}, and this user is not allowed to observe it",
            f"{remedy}, or run it as {get_user_name(owner)}",
        )
    level = tree.read_integer(_PARANOID_SETTING)
    if level is not None and level >= _FORBIDDEN_LEVEL and not observer.may_record:
        raise FaultwatchError(
            f"kernel.perf_event_paranoid is {level}: only privileged users are allowed to record anything",
            f"allow it with `sudo sysctl kernel.perf_event_paranoid=1`, or {remedy}",
        )


def describe_limits(permissions: RecordingPermissions, *, is_root: bool) -> list[str]:
    """Return what an observation by this user cannot record, each with the remedy."""
    limits = []
    if not permissions.kernel:
        limits.append(
            "faults within system calls, the kernel's functions and waiting threads are not recorded, so the cost of "
            "faults is unknown: to record them, run `sudo sysctl kernel.perf_event_paranoid=1` first, or run the "
            "command with sudo"
        )
    if not permissions.tracepoints:
        mount_remedy = "to record them, run `mount -t tracefs tracefs /sys/kernel/tracing`"
        remedy = mount_remedy if is_root else "run the command with sudo"
        limits.append(
            "calls that map or return memory are not recorded, so returned memory that is touched again cannot be "
            f"distinguished from new memory: {remedy}"
        )
    return limits


def read_owner(tree: Tree, pid: int) -> int | None:
    """Return the effective user id of a process; None if the process has ended or is hidden."""
    for line in tree.read_lines(f"proc/{pid}/status"):
        fields = line.split()
        if fields[:1] == ["Uid:"] and len(fields) > 2 and fields[2].isdecimal():
            return int(fields[2])
    return None


def get_user_name(uid: int) -> str:
    """Return the name of a user, or the user id as text if there is no name."""
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"user {uid}"
