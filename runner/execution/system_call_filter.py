"""The system calls that a sandboxed program cannot make, as a filter that bubblewrap loads.

libseccomp makes the filter; this module holds the list. A denied call fails with an error and does not end the program.
None of the calls is needed to allocate memory, and the filter runs in the kernel, so page-fault counts do not change.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain

from runner.errors import FaultwatchError

UPDATE_HINT = "update libseccomp; Debian and Ubuntu: apt install libseccomp2"
DENIED_CALLS: dict[str, tuple[str, ...]] = {
    "reading other processes and their counters": (
        *("perf_event_open", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "syslog"),
        *("lookup_dcookie", "process_madvise"),
    ),
    "kernel interfaces with a history of vulnerabilities": (
        *("bpf", "userfaultfd", "keyctl", "add_key", "request_key", "modify_ldt", "vm86", "vm86old", "uselib"),
        *("fanotify_init", "name_to_handle_at", "open_by_handle_at", "_sysctl", "sysfs", "ustat", "socketcall"),
    ),
    "changing the view of the file system": (
        *("mount", "umount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "open_tree_attr", "move_mount"),
        *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "quotactl", "quotactl_fd", "swapon", "swapoff"),
    ),
    "changing the machine": (
        *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "acct"),
        *("settimeofday", "clock_settime", "clock_settime64", "stime", "iopl", "ioperm", "nfsservctl"),
    ),
}
"""System calls by what they would allow."""
_NOT_IMPLEMENTED_CALLS = ("io_uring_setup", "io_uring_enter", "io_uring_register", "openat2")
"""Calls that are denied as if the kernel lacked them: programs that use them can do without.

openat2 is one of them because it takes the mode of a new file from memory, which no filter can read.
"""
_MODE_ARGUMENTS = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2, "creat": 1}
"""Calls that set the mode of a file, with the position of the argument for the mode."""
_OPEN_FLAGS_ARGUMENTS = {"open": 1, "openat": 2}
"""Calls that set the mode only with certain flags, with the position of the flags; the mode follows the flags."""
_CREATING_FLAGS = (os.O_CREAT, 0o20000000)
"""The flags with which a call creates a file: O_CREAT, and the bit of O_TMPFILE that O_DIRECTORY does not have."""
_SET_ID_BITS = (0o4000, 0o2000)
"""Whoever executes a file with a set-user-ID bit gets the rights of its owner, who may be the runner's user."""
_CALLS_UNKNOWN_TO_LIBSECCOMP = {
    **{
        "io_uring_setup": 425,
        "io_uring_enter": 426,
        "io_uring_register": 427,
        "open_tree": 428,
        "move_mount": 429,
        "openat2": 437,
    },
    **{"fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440},
    **{"mount_setattr": 442, "quotactl_fd": 443, "fchmodat2": 452, "setxattrat": 463, "getxattrat": 464},
    **{"listxattrat": 465, "removexattrat": 466, "open_tree_attr": 467},
}
"""Numbers of calls whose names an older libseccomp does not know; from 424 on they are equal on all architectures."""
_MAX_ADDRESS_FAMILY = 16
"""AF_NETLINK. Later families, such as AF_VSOCK and AF_ALG, bypass network namespaces or are rarely tested."""

# Constants of libseccomp's seccomp.h: actions, an attribute of a filter, and operators.
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000
_OPTIMIZE, _BINARY_TREE = 8, 2
"""The attribute for the optimisation of the filter, and its value for a tree, which finds a call by binary search."""
_GREATER, _MASKED_EQUAL = 6, 7
OTHER_ARCHITECTURES = {"x86_64": 0x40000003, "aarch64": 0x40000028}
"""The 32-bit architecture whose programs a 64-bit kernel can run as well: i386, or 32-bit Arm."""
_CLONE_NEWUSER = 0x10000000
_UNKNOWN_CALL = -1
# Instructions of the kernel's filters (linux/bpf_common.h), and how one is stored (struct sock_filter).
_INSTRUCTION = struct.Struct("=HBBI")
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_CALL_NUMBER_OFFSET = 0
"""The offset of the call's number in the data of a filter (struct seccomp_data)."""


class ArgumentCondition(ctypes.Structure):
    """A rule's condition on one argument: its position, the operator, and one or two operands."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


@contextmanager
def open_filter(*, no_user_namespaces: bool = False) -> Iterator[int]:
    """Yield a descriptor from which bubblewrap reads the filter (``--seccomp``).

    Parameters
    ----------
    no_user_namespaces
        Whether to deny user namespaces too; necessary if bubblewrap cannot forbid them.

    Raises
    ------
    FaultwatchError
        If libseccomp cannot be loaded, or cannot create the filter.
    """
    with open_filter_as_descriptor(_build_filter(no_user_namespaces)) as descriptor:
        yield descriptor


@contextmanager
def open_filter_as_descriptor(program: bytes) -> Iterator[int]:
    """Yield a descriptor from which a filter can be read from its beginning."""
    descriptor = os.memfd_create("system-calls")
    try:
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@lru_cache
def _build_filter(no_user_namespaces: bool) -> bytes:
    """Return the seccomp filter that denies dangerous system calls."""
    seccomp = load_libseccomp()
    context = seccomp.seccomp_init(_ALLOW)
    if not context:
        raise FaultwatchError("libseccomp cannot create a filter", UPDATE_HINT)
    try:
        if other_architecture := OTHER_ARCHITECTURES.get(platform.machine()):
            # Otherwise a program for this architecture is killed at its first system call.
            seccomp.seccomp_arch_add(context, other_architecture)
        seccomp.seccomp_attr_set(context, _OPTIMIZE, _BINARY_TREE)
        for name in (name for names in DENIED_CALLS.values() for name in names):
            _add_denial(seccomp, context, name, errno.EPERM)
        for name in _NOT_IMPLEMENTED_CALLS:
            _add_denial(seccomp, context, name, errno.ENOSYS)
        for bit in _SET_ID_BITS:
            for name, index in _MODE_ARGUMENTS.items():
                _add_denial(seccomp, context, name, errno.EPERM, ArgumentCondition(index, _MASKED_EQUAL, bit, bit))
            for name, index in _OPEN_FLAGS_ARGUMENTS.items():
                for flag in _CREATING_FLAGS:
                    # The mode is the argument after the flags, and has an effect only if the flags create a file.
                    creates_file = ArgumentCondition(index, _MASKED_EQUAL, flag, flag)
                    _add_denial(
                        seccomp,
                        context,
                        name,
                        errno.EPERM,
                        creates_file,
                        ArgumentCondition(index + 1, _MASKED_EQUAL, bit, bit),
                    )
        _add_denial(
            seccomp, context, "socket", errno.EAFNOSUPPORT, ArgumentCondition(0, _GREATER, _MAX_ADDRESS_FAMILY, 0)
        )
        if no_user_namespaces:
            _add_denial(seccomp, context, "unshare", errno.EPERM)
            _add_denial(
                seccomp,
                context,
                "clone",
                errno.EPERM,
                ArgumentCondition(0, _MASKED_EQUAL, _CLONE_NEWUSER, _CLONE_NEWUSER),
            )
            _add_denial(seccomp, context, "clone3", errno.ENOSYS)  # Its flags are in memory, which no filter can read.
        errors = dict.fromkeys((*_NOT_IMPLEMENTED_CALLS, *_MODE_ARGUMENTS), errno.ENOSYS) | dict.fromkeys(
            chain.from_iterable(DENIED_CALLS.values()), errno.EPERM
        )
        unnamed_calls = {
            number: errors[name]
            for name, number in _CALLS_UNKNOWN_TO_LIBSECCOMP.items()
            if name in errors and seccomp.seccomp_syscall_resolve_name(name.encode()) == _UNKNOWN_CALL
        }
        return build_denials_by_number(unnamed_calls) + export_filter(seccomp, context)
    finally:
        seccomp.seccomp_release(context)


def _add_denial(seccomp: ctypes.CDLL, context: int, name: str, error: int, *conditions: ArgumentCondition) -> None:
    """Let a call fail with an error, unless libseccomp does not know its name."""
    # In a filter for two architectures, libseccomp translates numbers by names, so it cannot deny a call by its number.
    if seccomp.seccomp_syscall_resolve_name(name.encode()) != _UNKNOWN_CALL:
        add_rule(seccomp, context, name, _ERROR | error, *conditions)


def build_denials_by_number(errors: Mapping[int, int]) -> bytes:
    """Return the beginning of a filter, in the kernel's format, that lets calls fail on all architectures.

    Parameters
    ----------
    errors
        For the number of each call, which must be the same on all architectures, the error with which it fails.
    """
    instructions = [(_LOAD_WORD, 0, 0, _CALL_NUMBER_OFFSET)]
    for number, error in errors.items():
        # If the number is another one, skip the next instruction.
        instructions += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | error)]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in instructions) if errors else b""


def add_rule(seccomp: ctypes.CDLL, context: int, name: str, action: int, *conditions: ArgumentCondition) -> None:
    """Add a rule for a system call, unless this architecture does not have it.

    Parameters
    ----------
    conditions
        The conditions on the arguments of the call, all of which must hold.

    Raises
    ------
    FaultwatchError
        If libseccomp rejects the rule.
    """
    number = seccomp.seccomp_syscall_resolve_name(name.encode())
    if number == _UNKNOWN_CALL:
        number = _CALLS_UNKNOWN_TO_LIBSECCOMP.get(name, _UNKNOWN_CALL)
    if number == _UNKNOWN_CALL:
        return
    array = (ArgumentCondition * len(conditions))(*conditions)
    status = seccomp.seccomp_rule_add_array(context, action, number, len(conditions), array)
    if status not in {0, -errno.EDOM}:  # The latter means that this architecture lacks the call.
        raise FaultwatchError(f"libseccomp cannot create a rule for {name}: {os.strerror(-status)}", UPDATE_HINT)


def export_filter(seccomp: ctypes.CDLL, context: int) -> bytes:
    """Return a filter in the kernel's format.

    Raises
    ------
    FaultwatchError
        If libseccomp cannot write it.
    """
    descriptor = os.memfd_create("exported")
    try:
        status = seccomp.seccomp_export_bpf(context, descriptor)
        if status:
            raise FaultwatchError(f"libseccomp cannot write its filter: {os.strerror(-status)}", UPDATE_HINT)
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)


@lru_cache
def load_libseccomp() -> ctypes.CDLL:
    """Load and return libseccomp.

    Raises
    ------
    FaultwatchError
        If it cannot be loaded.
    """
    try:
        seccomp = ctypes.CDLL("libseccomp.so.2")
    except OSError as error:
        raise FaultwatchError(
            f"libseccomp cannot be loaded: {error}", "Debian and Ubuntu: apt install libseccomp2"
        ) from None
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_init.argtypes = [ctypes.c_uint32]
    seccomp.seccomp_release.argtypes = [ctypes.c_void_p]
    seccomp.seccomp_arch_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    seccomp.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    seccomp.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    seccomp.seccomp_rule_add_array.argtypes = [
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint),
        ctypes.POINTER(ArgumentCondition),
    ]
    seccomp.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return seccomp
