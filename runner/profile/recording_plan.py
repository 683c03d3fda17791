"""Plans what perf records (events, periods, call graphs), so that recordings stay small."""

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from runner.profile.fault_access import EXCEPTION_TRACEPOINTS

CallGraph = Literal["fp", "dwarf", "lbr"]

MAX_RECORDED_FAULTS = 2_000_000
"""The largest number of faults to record, each in about 60 bytes. If a program has more, one in N is recorded."""
MAX_STACKS = {"fp": 20_000, "lbr": 20_000, "dwarf": 2_000}
"""The largest number of stacks to record. A stack takes 0.2 KB with frame pointers, and 8 KB with DWARF, which needs a
copy of the stack memory."""
MAX_FAULT_STACKS = {"fp": 20_000, "lbr": 20_000, "dwarf": 16_000}
"""The same for the stacks of faults in a program that is executed for the profile, at most 130 MB. Only if each fault
is recorded with its stack is it known to the single fault which line has more of them than before."""
MAX_CALL_STACKS = {"fp": 100_000, "lbr": 100_000, "dwarf": 16_000}
"""The largest number of system calls to record with their stacks: all or none, because a call that was not recorded may
be the one that gave a page back."""
_STACK_BYTES = {"fp": 512, "lbr": 1024, "dwarf": 8192 + 512}
"""The size of a recorded stack, rounded up."""
_MIN_CLOCK_NANOSECONDS = 100_000
"""The smallest number of nanoseconds of CPU time between two recorded stacks."""
FILE_CALLS = ("ftruncate", "fallocate", "msync", "fsync", "fdatasync")
"""The system calls after which a page of a shared file that was present can fault again: they take it away, or
write-protect it until its content is written to the file."""
COMMON_CALLS = ("mmap", "munmap", "madvise", "brk", "mremap")
"""The system calls that allocate or release memory."""
TRACED_CALLS = (*COMMON_CALLS, "mprotect", "mlock", "mlock2", "mlockall", "prctl", *FILE_CALLS)
"""All calls that are recorded: also those that protect memory, populate it without faults, or forbid huge pages."""
_MIN_CPU_SECONDS = 0.05
"""Of a program that takes less CPU time, in seconds, only the common calls are recorded: to attach to all of them takes
half a second longer."""


class ExpectedCounts(Struct, frozen=True):
    """The expected counts of an execution, taken from an execution that was not recorded.

    Attributes
    ----------
    faults, switches
        The number of page faults and of context switches.
    cpu_seconds
        The CPU time of all threads, in seconds.
    """

    faults: int
    switches: int
    cpu_seconds: float


def compute_faults_period(expected_counts: ExpectedCounts) -> int:
    """Return N, if one in N faults is to be recorded with its address."""
    return max(1, -(-expected_counts.faults // MAX_RECORDED_FAULTS))


def compute_stacks_period(event_count: int, max_stacks: int) -> int:
    """Return N, if one in N events is to be recorded with its stack, and at most ``max_stacks`` of them."""
    return max(1, -(-event_count // max_stacks))


def estimate_stack_bytes(event_count: int, period: int, call_graph: CallGraph) -> int:
    """Return the size of a recording of one in ``period`` events with their stacks, in bytes."""
    return -(-event_count // period) * _STACK_BYTES[call_graph]


def compute_clock_period(expected_counts: ExpectedCounts, call_graph: CallGraph) -> int:
    """Return the nanoseconds of CPU time between two recorded stacks."""
    nanoseconds = math.ceil(expected_counts.cpu_seconds * 1e9)
    return max(_MIN_CLOCK_NANOSECONDS, compute_stacks_period(nanoseconds, MAX_STACKS[call_graph]))


def select_calls(expected_counts: ExpectedCounts) -> tuple[str, ...]:
    """Return the names of the system calls to record of a program: fewer of one that takes little CPU time."""
    return TRACED_CALLS if expected_counts.cpu_seconds >= _MIN_CPU_SECONDS else COMMON_CALLS


def build_faults_options(
    period: int, *, tracepoints: bool, error_codes: bool, calls: Sequence[str] = TRACED_CALLS
) -> tuple[str, ...]:
    """Return the options to record addresses of faults and, if each fault is recorded, tracepoints too.

    Parameters
    ----------
    tracepoints
        Whether tracepoints of system calls can be recorded.
    error_codes
        Whether tracepoints of page faults, with the error codes of the processor, can be recorded.
    """
    events = ["page-faults", "major-faults"]
    # Without tracepoints, use the clock of strace, whose calls are merged with the faults by time.
    clock = () if tracepoints else ("-k", "mono")
    if tracepoints and period == 1:
        events += [*(EXCEPTION_TRACEPOINTS if error_codes else ()), *_list_call_tracepoints(calls)]
    return ("-d", "-c", str(period), *clock, *(word for event in events for word in ("-e", event)))


def build_live_faults_options(period: int, *, error_codes: bool) -> tuple[str, ...]:
    """Return the options to record the address of one in ``period`` faults of a running process, without calls."""
    faults = f"page-faults/period={period},name=page-faults/"
    # Record the other events only if every fault is recorded: otherwise most of them belong to faults that are not.
    exact = ("major-faults", *(EXCEPTION_TRACEPOINTS if error_codes else ())) if period == 1 else ()
    return ("-d", "-c", "1", *(word for event in (faults, *exact) for word in ("-e", event)))


def build_calls_options(calls: Sequence[str] = COMMON_CALLS) -> tuple[str, ...]:
    """Return the options to record only the system calls."""
    return ("-c", "1", *(word for event in _list_call_tracepoints(calls) for word in ("-e", event)))


def build_fault_stack_options(period: int, call_graph: CallGraph, calls: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the options to record one in ``period`` faults with its stack and its address.

    Parameters
    ----------
    calls
        The names of the system calls to record with their stacks, too.
    """
    tracepoints = _list_call_tracepoints(calls) if calls else ()
    faults = f"page-faults/period={period},name=page-faults/"
    events = (word for event in (faults, *tracepoints) for word in ("-e", event))
    return ("-d", "-c", "1", *events, "--call-graph", _describe_call_graph(call_graph))


def build_stack_options(event: str, period: int, call_graph: CallGraph) -> tuple[str, ...]:
    """Return the options to record an event with its stack."""
    return ("-e", event, "-c", str(period), "--call-graph", _describe_call_graph(call_graph))


def _describe_call_graph(call_graph: CallGraph) -> str:
    return "dwarf,8192" if call_graph == "dwarf" else call_graph  # with 8 KiB of the stack, from which perf unwinds it


def _list_call_tracepoints(calls: Sequence[str]) -> tuple[str, ...]:
    # The address to which mremap has moved memory is known only when it returns.
    return (*(f"syscalls:sys_enter_{name}" for name in calls), "syscalls:sys_exit_mremap")
