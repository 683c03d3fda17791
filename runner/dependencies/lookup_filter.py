"""The system calls by which a program asks about files, as a filter at which the kernel stops it for the tracer."""

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from functools import lru_cache

from runner.errors import FaultwatchError
from runner.execution.system_call_filter import (
    UPDATE_HINT,
    ArgumentCondition,
    add_rule,
    export_filter,
    load_libseccomp,
    open_filter_as_descriptor,
)

# Constants of libseccomp's seccomp.h: actions, attributes of a filter, and below the operators.
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000
_OPTIMIZE, _BAD_ARCHITECTURE = 8, 2
_BINARY_TREE = 2
"""The optimisation level of libseccomp that finds a call by binary search."""
_ACTION_MASK = 15
"""The bits of a call's code that contain its action."""
_NO_ARGUMENT = 7
"""Stands for the position of an argument that a call does not have."""


class Action(IntEnum):
    """What ``lookup_tracer.c`` does when it is stopped at a system call."""

    OPEN = 1
    """Record that the content of a file was asked for, and whether the call writes it or makes it."""
    STATE = 2
    """Record that the status of a file was asked for: of a link's target, unless the flags forbid to follow links."""
    NAME_STATE = 3
    """Record that the status of a name was asked for, of a link itself."""
    LIST = 4
    """Record that the names in an open folder were asked for."""
    DESCRIPTOR = 5
    """Record that the status of an open file was asked for."""
    MAKE = 6
    """Record that a file is made, if it does not exist."""
    CHANGE = 7
    """Record that a file is changed or removed."""
    RENAME = 8
    """Record that a file is moved, and that its new name is made."""
    LINK = 9
    """Record that a file gets another name, by which its content can be read."""
    EXECUTE = 10
    """Record that a program and its interpreters are read."""
    UNFOLLOWED = 11
    """Give the tracing up, because lookups can no longer be seen."""
    CONNECT = 12
    """Give the tracing up if the process connects to another process."""
    CLONE = 13
    """Give the tracing up if the new process must not be traced."""
    CLONE3 = 14
    """The same for ``clone3``, whose flags are in memory."""
    ATTRIBUTES = 15
    """Record that the extended attributes of a file were asked for."""


def _encode_call(
    action: Action, folder: int = _NO_ARGUMENT, name: int = _NO_ARGUMENT, flags: int = _NO_ARGUMENT
) -> int:
    """Return the filter's code for a call: the action, and the positions of up to three arguments.

    Parameters
    ----------
    folder
        The position of the descriptor: of an open file or, before a name, of the folder to which the name is relative.
    name
        The position of the path; of two paths, that of the first.
    flags
        The position of the flags.
    """
    return action | folder << 4 | name << 7 | flags << 10


def _encode_calls(names: str, code: int) -> dict[str, int]:
    """Return the same code for each call; ``names`` are separated by spaces."""
    return dict.fromkeys(names.split(), code)


FOLLOWED_CALLS: Mapping[str, int] = {
    "open": _encode_call(Action.OPEN, name=0, flags=1),
    "openat": _encode_call(Action.OPEN, 0, 1, 2),
    **_encode_calls("stat stat64 access chdir statfs statfs64 uselib", _encode_call(Action.STATE, name=0)),
    **_encode_calls("lstat lstat64 readlink", _encode_call(Action.NAME_STATE, name=0)),
    "readlinkat": _encode_call(Action.NAME_STATE, 0, 1),
    **_encode_calls("newfstatat fstatat64 faccessat2", _encode_call(Action.STATE, 0, 1, 3)),
    "statx": _encode_call(Action.STATE, 0, 1, 2),
    "faccessat": _encode_call(Action.STATE, 0, 1),
    "name_to_handle_at": _encode_call(Action.STATE, 0, 1),
    "inotify_add_watch": _encode_call(Action.STATE, name=1),
    "fstat": _encode_call(Action.DESCRIPTOR, 0),
    **_encode_calls("getdents getdents64", _encode_call(Action.LIST, 0)),
    **_encode_calls("getxattr lgetxattr listxattr llistxattr", _encode_call(Action.ATTRIBUTES, name=0)),
    **_encode_calls("fgetxattr flistxattr", _encode_call(Action.ATTRIBUTES, 0)),
    **_encode_calls("mkdir mknod creat", _encode_call(Action.MAKE, name=0)),
    **_encode_calls("mkdirat mknodat", _encode_call(Action.MAKE, 0, 1)),
    "symlink": _encode_call(Action.MAKE, name=1),
    "symlinkat": _encode_call(Action.MAKE, 1, 2),
    "link": _encode_call(Action.LINK, name=0),
    "linkat": _encode_call(Action.LINK, 0, 1),
    "rename": _encode_call(Action.RENAME, name=0),
    **_encode_calls("renameat renameat2", _encode_call(Action.RENAME, 0, 1)),
    **_encode_calls(
        "unlink rmdir chmod chown lchown truncate truncate64 utime utimes setxattr lsetxattr removexattr lremovexattr",
        _encode_call(Action.CHANGE, name=0),
    ),
    **_encode_calls("unlinkat fchmodat fchmodat2 fchownat futimesat utimensat", _encode_call(Action.CHANGE, 0, 1)),
    **_encode_calls("fchmod fchown fsetxattr fremovexattr", _encode_call(Action.CHANGE, 0)),
    "execve": _encode_call(Action.EXECUTE, name=0),
    "execveat": _encode_call(Action.EXECUTE, 0, 1),
    "connect": _encode_call(Action.CONNECT),
    "clone": _encode_call(Action.CLONE, flags=0),
    "clone3": _encode_call(Action.CLONE3),
    # After these calls, the filter no longer sees all lookups: they use kernel threads, other mounts or other filters.
    **_encode_calls(
        "io_uring_setup seccomp chroot pivot_root mount umount umount2 setns move_mount open_tree fsmount "
        "open_by_handle_at openat2 fanotify_init userfaultfd ptrace shmat msgrcv semop semtimedop mq_open keyctl "
        "sendmsg sendmmsg swapon swapoff acct quotactl getxattrat listxattrat setxattrat removexattrat",
        _encode_call(Action.UNFOLLOWED),
    ),
}
"""The filter's code for each call, by name. On an architecture without a call, the filter leaves it out."""
_PR_SET_SECCOMP = 22
"""The operation of ``prctl`` that sets a seccomp filter, as the call ``seccomp`` does."""
_NOT_EQUAL, _EQUAL = 1, 4
_CLONE_NEWNS = 0x00020000
"""The flag that creates a new mount namespace."""
_MASKED_EQUAL = 7


@contextmanager
def open_lookup_filter(*, includes_open_files: bool) -> Iterator[int]:
    """Yield a descriptor from which the lookup tracer reads the filter.

    Parameters
    ----------
    includes_open_files
        Whether to also stop at calls that ask about a file that is already open; most openings are followed by one.

    Raises
    ------
    FaultwatchError
        libseccomp cannot be loaded, or cannot create the filter.
    """
    with open_filter_as_descriptor(_build_filter(includes_open_files)) as descriptor:
        yield descriptor


@lru_cache
def _build_filter(includes_open_files: bool) -> bytes:
    """Return the filter that stops a program at each call that asks about files."""
    seccomp = load_libseccomp()
    context = seccomp.seccomp_init(_ALLOW)
    if not context:
        raise FaultwatchError("libseccomp cannot create a filter", UPDATE_HINT)
    try:
        unfollowed = _TRACE | _encode_call(Action.UNFOLLOWED)
        # Programs of another architecture have other call numbers, so each of their calls ends the tracing.
        seccomp.seccomp_attr_set(context, _BAD_ARCHITECTURE, ctypes.c_uint32(unfollowed))
        seccomp.seccomp_attr_set(context, _OPTIMIZE, _BINARY_TREE)
        for name, code in FOLLOWED_CALLS.items():
            if code & _ACTION_MASK == Action.DESCRIPTOR and not includes_open_files:
                continue  # The file was opened by a call that is followed.
            add_rule(seccomp, context, name, _TRACE | code)
        # A filter of the program itself could hide calls from this one.
        add_rule(seccomp, context, "prctl", unfollowed, ArgumentCondition(0, _EQUAL, _PR_SET_SECCOMP, 0))
        # A message with a destination address (argument 4) may look up the path of a socket.
        add_rule(seccomp, context, "sendto", unfollowed, ArgumentCondition(4, _NOT_EQUAL, 0, 0))
        # In a mount namespace of its own, the program may see other files under the same paths.
        add_rule(
            seccomp, context, "unshare", unfollowed, ArgumentCondition(0, _MASKED_EQUAL, _CLONE_NEWNS, _CLONE_NEWNS)
        )
        return export_filter(seccomp, context)
    finally:
        seccomp.seccomp_release(context)
