"""How a measured process is started: in a state that does not change from one execution to the next."""

import ctypes
import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

ADDR_NO_RANDOMIZE = 0x0040000
"""personality(2): no address-space layout randomisation."""
PR_SET_THP_DISABLE = 41
"""prctl(2): no transparent huge pages for this process and what it executes."""
STACK_LIMIT = 8 * 1024 * 1024
"""Bytes. The layout of the address space depends on it."""

BASE_VARIABLES: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}
"""All that a measured program finds in its environment, unless the workload or the caller adds to it. The bytes of the
environment lie on the stack, so one of another length moves the count."""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The state in which a measured process starts. Set before perf starts, so that no wrapper is counted."""

    variables: Mapping[str, str] = field(default_factory=dict)
    huge_pages: Literal["host", "never"] = "host"

    @property
    def environment(self) -> dict[str, str]:
        """The complete environment of the process."""
        return {**BASE_VARIABLES, **self.variables}

    def knobs(self) -> dict[str, str]:
        """Return this state as knobs of the run's environment."""
        return {
            "process.aslr": "off" if can_fix_layout() else "on",
            "process.huge_pages": self.huge_pages,
            "process.stack_limit": str(
                STACK_LIMIT if can_limit_stack() else resource.getrlimit(resource.RLIMIT_STACK)[0]
            ),
        }

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Take on this state for a while; processes started meanwhile by this thread inherit it.

        The runner takes the state on itself, instead of between fork and exec, so that no code of ours has to run in
        the child: that would be slower and, in a process with threads, not safe.
        """
        libc = _libc()
        personality = libc.personality(0xFFFFFFFF)
        stack = resource.getrlimit(resource.RLIMIT_STACK)
        umask = os.umask(0o022)
        if can_fix_layout():
            libc.personality(personality | ADDR_NO_RANDOMIZE)
        if self.huge_pages == "never":
            libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        if can_limit_stack():
            resource.setrlimit(resource.RLIMIT_STACK, (STACK_LIMIT, stack[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_STACK, stack)
            if self.huge_pages == "never":
                libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
            libc.personality(personality)
            os.umask(umask)


@lru_cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@lru_cache
def can_fix_layout() -> bool:
    """Whether this process may switch address randomisation off; a container can forbid it."""
    libc = _libc()
    before = libc.personality(0xFFFFFFFF)
    if libc.personality(before | ADDR_NO_RANDOMIZE) == -1:
        return False
    libc.personality(before)
    return True


def can_limit_stack() -> bool:
    """Whether the stack limit can be what it should: a lower hard limit forbids it."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    return hard == resource.RLIM_INFINITY or hard >= STACK_LIMIT
