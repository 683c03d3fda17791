"""Chooses the options of perf record (events, periods, call graphs), so that recordings stay small."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from runner.profile.fault_access import EXCEPTION_TRACEPOINTS
from runner.profile.recorded_system_calls import COMMON_CALLS, RAW_ENTRY, RAW_EXIT

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


def build_faults_options(
    period: int, *, error_codes: bool, call_numbers: Mapping[int, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return the options to record addresses of faults and, if each fault is recorded, tracepoints too.

    Parameters
    ----------
    error_codes
        Whether tracepoints of page faults, with the error codes of the processor, can be recorded.
    call_numbers
        The system calls to record, by their numbers; empty if strace records them.
    """
    # Use the clock of strace if its calls are merged with the faults by time.
    clock = () if call_numbers else ("-k", "mono")
    exceptions = EXCEPTION_TRACEPOINTS if error_codes and period == 1 else ()
    events = [word for event in ("page-faults", "major-faults", *exceptions) for word in ("-e", event)]
    return ("-d", "-c", str(period), *clock, *events, *_select_calls(call_numbers if period == 1 else {}))


def build_live_faults_options(period: int, *, error_codes: bool) -> tuple[str, ...]:
    """Return the options to record the address of one in ``period`` faults of a running process, without calls."""
    faults = f"page-faults/period={period},name=page-faults/"
    # Record the other events only if every fault is recorded: otherwise most of them belong to faults that are not.
    exact = ("major-faults", *(EXCEPTION_TRACEPOINTS if error_codes else ())) if period == 1 else ()
    return ("-d", "-c", "1", *(word for event in (faults, *exact) for word in ("-e", event)))


def build_calls_options(call_numbers: Mapping[int, str]) -> tuple[str, ...]:
    """Return the options to record only system calls, given by their numbers."""
    return ("-c", "1", *_select_calls(call_numbers))


def build_live_calls_options() -> tuple[str, ...]:
    """Return the options to record the calls of the whole host that allocate or release memory.

    Each call is recorded by its own tracepoint, so that the other system calls of the host cost nothing.
    """
    # The address to which mremap has moved memory is known only when it returns.
    events = (*(f"syscalls:sys_enter_{name}" for name in COMMON_CALLS), "syscalls:sys_exit_mremap")
    return ("-c", "1", *(word for event in events for word in ("-e", event)))


def build_fault_stack_options(
    period: int, call_graph: CallGraph, call_numbers: Mapping[int, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return the options to record one in ``period`` faults with its stack and its address.

    Parameters
    ----------
    call_numbers
        The system calls to record with their stacks, too, by their numbers.
    """
    faults = f"page-faults/period={period},name=page-faults/"
    return ("-d", "-c", "1", "-e", faults, *_select_calls(call_numbers), *_build_graph_options(call_graph))


def build_stack_options(event: str, period: int, call_graph: CallGraph) -> tuple[str, ...]:
    """Return the options to record an event with its stack."""
    return ("-e", event, "-c", str(period), *_build_graph_options(call_graph))


def _build_graph_options(call_graph: CallGraph) -> tuple[str, ...]:
    # perf copies 8 KiB of the stack, from which it unwinds it.
    return ("--call-graph", "dwarf,8192" if call_graph == "dwarf" else call_graph)


def _select_calls(call_numbers: Mapping[int, str]) -> tuple[str, ...]:
    """Return the options to record system calls, and what mremap returns: the address to which it has moved memory."""
    if not call_numbers:
        return ()
    entries = " || ".join(f"id == {number}" for number in call_numbers)
    exits = " || ".join(f"id == {number}" for number, name in call_numbers.items() if name == "mremap")
    return ("-e", RAW_ENTRY, "--filter", entries, "-e", RAW_EXIT, "--filter", exits)
