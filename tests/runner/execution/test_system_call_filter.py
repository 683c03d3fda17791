"""The filter of system calls, on each architecture."""

import ctypes

import pytest

from runner.execution.system_call_filter import OTHER_ARCHITECTURES, open_filter


@pytest.mark.parametrize(("machine", "name"), [("x86_64", b"x86"), ("aarch64", b"arm")])
def test_the_other_architecture_is_the_one_that_libseccomp_names(machine: str, name: bytes) -> None:
    resolve = ctypes.CDLL("libseccomp.so.2").seccomp_arch_resolve_name
    resolve.restype = ctypes.c_uint32
    assert resolve(name) == OTHER_ARCHITECTURES[machine]


def test_this_architecture_has_a_filter() -> None:
    with open_filter() as descriptor:
        assert descriptor >= 0
