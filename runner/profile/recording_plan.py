"""Plans what perf records, so that profiles stay small: events, periods, call graphs."""

import math
from typing import Literal

from msgspec import Struct

from runner.profile.fault_access import EXCEPTION_TRACEPOINTS

CallGraph = Literal["fp", "dwarf", "lbr"]

MAX_RECORDED_FAULTS = 2_000_000
"""Up to this many faults, each one is recorded, in about 60 bytes; of more, one in N, to stay below this number."""
MAX_STACKS = {"fp": 20_000, "lbr": 20_000, "dwarf": 2_000}
"""The largest number of stacks to record: each takes 0.2 KB with frame pointers, and 8 KB with DWARF, which needs a
copy of the program's stack."""
_MIN_CLOCK_NANOSECONDS = 100_000
"""The smallest number of nanoseconds between two samples of the CPU."""
TRACED_CALLS = ("mmap", "munmap", "madvise", "brk", "mremap")
"""The system calls that allocate or release memory."""


class ExpectedCounts(Struct, frozen=True):
    """The expected counts of an execution, from an execution that was only counted.

    Attributes
    ----------
    faults, switches
        Number of page faults and of context switches.
    cpu_seconds
        CPU time of all threads.
    """

    faults: int
    switches: int
    cpu_seconds: float


def compute_faults_period(expected: ExpectedCounts) -> int:
    """Compute N, so that one in N faults is recorded with its address."""
    return max(1, -(-expected.faults // MAX_RECORDED_FAULTS))


def compute_stacks_period(event_count: int, call_graph: CallGraph) -> int:
    """Compute N, so that one in N events is recorded with its stack."""
    return max(1, -(-event_count // MAX_STACKS[call_graph]))


def compute_clock_period(expected: ExpectedCounts, call_graph: CallGraph) -> int:
    """Return the nanoseconds of CPU time between two recorded stacks."""
    return max(_MIN_CLOCK_NANOSECONDS, compute_stacks_period(math.ceil(expected.cpu_seconds * 1e9), call_graph))


def build_faults_options(period: int, *, tracepoints: bool, error_codes: bool) -> tuple[str, ...]:
    """Return the options to record addresses of faults, and, if each fault is recorded, the tracepoints around it.

    Parameters
    ----------
    tracepoints
        Whether tracepoints can be recorded.
    error_codes
        Whether those of page faults, with the error codes of the processor, are among them.
    """
    events = ["page-faults", "major-faults"]
    # The clock of strace's calls, which are put in order with the faults.
    clock = () if tracepoints else ("-k", "mono")
    if tracepoints and period == 1:
        events += [*(EXCEPTION_TRACEPOINTS if error_codes else ()), *_list_call_tracepoints()]
    return ("-d", "-c", str(period), *clock, *(word for event in events for word in ("-e", event)))


def build_live_faults_options(period: int, *, error_codes: bool) -> tuple[str, ...]:
    """Return the options to record the address of one in ``period`` faults of a live process, without system calls."""
    faults = f"page-faults/period={period},name=page-faults/"
    exact = ("major-faults", *(EXCEPTION_TRACEPOINTS if error_codes else ())) if period == 1 else ()
    return ("-d", "-c", "1", *(word for event in (faults, *exact) for word in ("-e", event)))


def build_calls_options() -> tuple[str, ...]:
    """Return the options to record only the system calls."""
    return ("-c", "1", *(word for event in _list_call_tracepoints() for word in ("-e", event)))


def build_stack_options(event: str, period: int, call_graph: CallGraph) -> tuple[str, ...]:
    """Return the options to record an event with its stack."""
    graph = "dwarf,8192" if call_graph == "dwarf" else call_graph
    return ("-e", event, "-c", str(period), "--call-graph", graph)


def _list_call_tracepoints() -> tuple[str, ...]:
    # Only the kernel knows where mremap moves memory.
    return (*(f"syscalls:sys_enter_{name}" for name in TRACED_CALLS), "syscalls:sys_exit_mremap")
