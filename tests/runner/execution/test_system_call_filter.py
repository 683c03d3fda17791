"""The filter of system calls, on each architecture."""

import ctypes
import errno
import os
import signal

import pytest

from runner.execution import system_call_filter
from runner.execution.system_call_filter import DENIED_CALLS, OTHER_ARCHITECTURES, build_denials_by_number, open_filter

SET_NO_NEW_PRIVILEGES, SET_SECCOMP, MODE_FILTER = 38, 22, 2


class FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def get_error_under_filter(program: bytes, number: int) -> int:
    """Return the error with which a system call without arguments fails in a process under a filter."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            library = ctypes.CDLL(None, use_errno=True)
            description = FilterProgram(len(program) // 8, program)
            library.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            if library.prctl(SET_SECCOMP, MODE_FILTER, ctypes.byref(description), 0, 0):
                os._exit(1)
            library.syscall(number, 0, 0, 0, 0, 0, 0)
            os.write(write_end, b"%d" % ctypes.get_errno())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(write_end)
    error = os.read(read_end, 100)
    os.close(read_end)
    os.waitpid(child, 0)
    return int(error)


def read_filter() -> bytes:
    with open_filter() as descriptor:
        return os.pread(descriptor, 1 << 20, 0)


@pytest.mark.parametrize(("machine", "name"), [("x86_64", b"x86"), ("aarch64", b"arm")])
def test_the_other_architecture_is_the_one_that_libseccomp_names(machine: str, name: bytes) -> None:
    resolve = ctypes.CDLL("libseccomp.so.2").seccomp_arch_resolve_name
    resolve.restype = ctypes.c_uint32
    assert resolve(name) == OTHER_ARCHITECTURES[machine]


def test_this_architecture_has_a_filter() -> None:
    with open_filter() as descriptor:
        assert descriptor >= 0


@pytest.mark.parametrize(
    "name",
    sorted(
        set(system_call_filter._CALLS_UNKNOWN_TO_LIBSECCOMP)
        & {name for names in DENIED_CALLS.values() for name in names}
    ),
)
def test_calls_are_denied_however_old_libseccomp_is(name: str) -> None:
    number = system_call_filter._CALLS_UNKNOWN_TO_LIBSECCOMP[name]
    assert get_error_under_filter(read_filter(), number) == errno.EPERM


def test_denials_by_number_leave_other_calls_to_the_rest_of_the_filter() -> None:
    program = build_denials_by_number({467: errno.EPERM, 452: errno.ENOSYS}) + read_filter()
    assert get_error_under_filter(program, 467) == errno.EPERM
    assert get_error_under_filter(program, 452) == errno.ENOSYS
    assert get_error_under_filter(program, 425) == errno.ENOSYS  # io_uring_setup, by the rest of the filter
    assert get_error_under_filter(program, 434) == errno.EINVAL  # pidfd_open of process 0, by the kernel
    assert build_denials_by_number({}) == b""
