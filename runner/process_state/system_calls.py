"""System calls for which Python has no function."""

import ctypes
import os
from functools import lru_cache

from msgspec import Struct

ADDR_NO_RANDOMIZE = 0x0040000
"""The flag of personality(2) that switches address-space layout randomisation off."""
_QUERY_PERSONALITY = 0xFFFFFFFF
REFUSE_NONE, REFUSE_ALL, REFUSE_UNADVISED = 0, 1, 3
"""Which transparent huge pages a process refuses, as prctl(PR_GET_THP_DISABLE) returns it."""
_PR_SET_THP_DISABLE, _PR_GET_THP_DISABLE = 41, 42


_GET_MEMPOLICY, _SET_MEMPOLICY = (239, 238) if os.uname().machine == "x86_64" else (236, 237)
"""The numbers of the system calls: on x86-64, and on all newer architectures, which use the same numbers."""
_MAX_NODES = 1024
"""The size of a node mask in bits: the largest number of NUMA nodes for which a kernel can be built."""


class NodePolicy(Struct, frozen=True):
    """A NUMA memory policy: its mode including flags, and a bit mask of its nodes."""

    mode: int
    nodes: bytes


def get_memory_policy() -> NodePolicy:
    """Return the NUMA memory policy of this thread."""
    mode, nodes = ctypes.c_int(), ctypes.create_string_buffer(_MAX_NODES // 8)
    # Without an address and without flags, the kernel returns the policy of the thread.
    _check_result(_load_libc().syscall(_GET_MEMPOLICY, ctypes.byref(mode), nodes, ctypes.c_ulong(_MAX_NODES), None, 0))
    return NodePolicy(mode.value, nodes.raw)


def set_memory_policy(policy: NodePolicy) -> None:
    """Set the NUMA memory policy of this thread and its children."""
    nodes = ctypes.create_string_buffer(policy.nodes, _MAX_NODES // 8) if policy.nodes else None
    node_count = ctypes.c_ulong(_MAX_NODES if nodes else 0)
    _check_result(_load_libc().syscall(_SET_MEMPOLICY, ctypes.c_int(policy.mode), nodes, node_count))


def get_personality() -> int:
    """Return the personality of this thread."""
    return _check_result(_load_libc().personality(_QUERY_PERSONALITY))


def set_personality(flags: int) -> None:
    """Set the personality of this thread and its children."""
    _check_result(_load_libc().personality(flags))


def get_huge_page_refusal() -> int:
    """Return which transparent huge pages this process refuses."""
    return _check_result(_load_libc().prctl(_PR_GET_THP_DISABLE, 0, 0, 0, 0))


def refuse_huge_pages(refusal: int) -> None:
    """Make this process and its children refuse transparent huge pages.

    Raises
    ------
    OSError
        This kernel does not support it; kernels before 6.18 cannot make an exception for advised huge pages.
    """
    # The first bit refuses huge pages; the second makes an exception for advised ones.
    _check_result(_load_libc().prctl(_PR_SET_THP_DISABLE, refusal & 1, refusal & 2, 0, 0))


def _check_result(result: int) -> int:
    """Return the result of a call of the C library; raise OSError if it failed."""
    if result == -1:
        error_number = ctypes.get_errno()
        raise OSError(error_number, os.strerror(error_number))
    return result


@lru_cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
