"""What perf is to record so that a profile stays small: events, periods, call graphs. Pure."""

import math
from dataclasses import dataclass
from typing import Literal

CallGraph = Literal["fp", "dwarf", "lbr"]

EACH = 2_000_000
"""Faults up to which each one is recorded, in some 60 bytes. Of more, one in as many as keep to it."""
STACKS = {"fp": 20_000, "lbr": 20_000, "dwarf": 2_000}
"""Stacks to record: 0.2 KB each with frame pointers; DWARF needs a copy of the program's stack, 8 KB."""
_LEAST_CLOCK = 100_000
"""Nanoseconds between two samples of the CPU."""
CALLS = ("mmap", "munmap", "madvise", "brk", "mremap")
"""The system calls that take memory or give it back."""


@dataclass(frozen=True, slots=True)
class ExpectedCounts:
    """What an execution is expected to do, as one that was only counted did.

    Attributes
    ----------
    faults, switches
        Numbers.
    cpu_seconds
        CPU time of all threads.
    """

    faults: int
    switches: int
    cpu_seconds: float


def faults_period(expected: ExpectedCounts) -> int:
    """Return one in how many faults is recorded with its address."""
    return max(1, -(-expected.faults // EACH))


def stacks_period(number: int, call_graph: CallGraph) -> int:
    """Return one in how many events is recorded with its stack."""
    return max(1, -(-number // STACKS[call_graph]))


def clock_period(expected: ExpectedCounts, call_graph: CallGraph) -> int:
    """Return the nanoseconds of CPU time between two recorded stacks."""
    return max(_LEAST_CLOCK, stacks_period(math.ceil(expected.cpu_seconds * 1e9), call_graph))


def faults_options(period: int, *, tracepoints: bool) -> tuple[str, ...]:
    """Return the options that record addresses of faults and, where each of them is recorded, what lies around."""
    events = ["page-faults", "major-faults"]
    if tracepoints and period == 1:
        events += ["exceptions:page_fault_user", "exceptions:page_fault_kernel", *_entries()]
    return ("-d", "-c", str(period), *(word for event in events for word in ("-e", event)))


def calls_options() -> tuple[str, ...]:
    """Return the options that record the system calls alone."""
    return ("-c", "1", *(word for event in _entries() for word in ("-e", event)))


def stack_options(event: str, period: int, call_graph: CallGraph) -> tuple[str, ...]:
    """Return the options that record an event with its stack."""
    graph = "dwarf,8192" if call_graph == "dwarf" else call_graph
    return ("-e", event, "-c", str(period), "--call-graph", graph)


def _entries() -> tuple[str, ...]:
    return tuple(f"syscalls:sys_enter_{name}" for name in CALLS)
