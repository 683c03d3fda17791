"""Decides how thinly a live process is recorded, so that it loses at most a share of its time. Pure."""

import math

from msgspec import Struct

from runner.profile.recording_plan import MAX_STACKS, CallGraph

SECONDS_PER_FAULT = 1.5e-6
"""What the record of a fault with its address costs the process; with the processor's error code, two records."""
SECONDS_PER_STACK = {"dwarf": 12e-6, "fp": 3e-6, "lbr": 3e-6}
"""What the record of a stack costs the process."""
SECONDS_PER_SWITCH = 1.5e-6
"""What the two records of leaving and entering a processor cost the process."""
_COUNTING_SECONDS = 0.5
"""How long the process is only counted at first, for the rates."""
_MAX_ADDRESS_SHARE = 0.4
"""The largest share of the time in which each fault is recorded with its address."""
_MIN_SAMPLED_SECONDS = 0.5
"""A shorter recording of sampled addresses is not worth a perf of its own."""
_MAX_SAMPLED_FAULTS = 50_000
_BUDGET_SHARES = {"addresses": 0.3, "sampled": 0.1, "faults": 0.2, "clock": 0.2, "switches": 0.2}
_MIN_PERIOD_NANOSECONDS = 100_000


class Rates(Struct, frozen=True):
    """What processes use in a second."""

    faults: float
    switches: float
    cpu: float


class RecordingBudget(Struct, frozen=True):
    """How a live process is recorded.

    Attributes
    ----------
    address_seconds
        For how long each fault is recorded with its address, and each call that maps or returns memory.
    max_faults
        After how many faults that ends, if they become more than expected.
    sampled_seconds, sampled_period
        For how long, afterwards, only one in ``sampled_period`` faults is recorded with its address, but all calls are:
        what is given back seldom, as a runtime gives back a heap, is seen only in a longer time. 0 seconds if each
        fault can be recorded for long enough.
    stack_seconds
        For how long stacks are recorded, afterwards.
    fault_period, clock_period
        One in ``fault_period`` faults is recorded with its stack, and the stack is sampled once in ``clock_period``
        nanoseconds of CPU time.
    switch_seconds
        For how long threads are recorded as they leave and enter processors.
    switch_period
        One in this many switches is recorded with its stack.
    """

    address_seconds: float
    max_faults: int
    sampled_seconds: float
    sampled_period: int
    stack_seconds: float
    fault_period: int
    clock_period: int
    switch_seconds: float
    switch_period: int


def compute_counting_seconds(seconds: float) -> float:
    """Return for how long a process is only counted before it is recorded."""
    return min(_COUNTING_SECONDS, seconds / 10)


def plan_recording(rates: Rates, seconds: float, max_overhead: float, call_graph: CallGraph) -> RecordingBudget:
    """Plan the recording of the next seconds.

    Parameters
    ----------
    rates
        What the process used in a second while it was only counted.
    seconds
        How long the recording lasts.
    max_overhead
        The largest share of its CPU time that recording may cost the process.
    """
    seconds_per_stack = SECONDS_PER_STACK[call_graph]
    # The CPU time that each kind of record may cost the process.
    budgets = {name: share * max_overhead * rates.cpu * seconds for name, share in _BUDGET_SHARES.items()}
    # First each fault with its address, then only some of them.
    max_faults = int(budgets["addresses"] / SECONDS_PER_FAULT)
    address_seconds = min(_MAX_ADDRESS_SHARE * seconds, _compute_seconds(max_faults, rates.faults))
    sampled_seconds = _MAX_ADDRESS_SHARE * seconds - address_seconds
    if sampled_seconds < _MIN_SAMPLED_SECONDS:
        sampled_seconds = 0.0
    sampled_faults = min(_MAX_SAMPLED_FAULTS, budgets["sampled"] / SECONDS_PER_FAULT)
    stack_seconds = seconds - address_seconds - sampled_seconds
    # Then stacks: up to a number that says enough, and as many as the budget allows.
    faults, switches = rates.faults * stack_seconds, rates.switches * stack_seconds
    max_stacks = MAX_STACKS[call_graph]
    clock_seconds = max(
        seconds_per_stack / (_BUDGET_SHARES["clock"] * max_overhead) if max_overhead else math.inf,
        rates.cpu * stack_seconds / max_stacks,
    )
    # Half of the budget of switches is for their own records, the other half for the stacks of some of them.
    switch_seconds = min(stack_seconds, _compute_seconds(budgets["switches"] / 2, rates.switches * SECONDS_PER_SWITCH))
    recorded_switches = switches * switch_seconds / stack_seconds if stack_seconds else 0.0
    return RecordingBudget(
        address_seconds=address_seconds,
        max_faults=max_faults,
        sampled_seconds=sampled_seconds,
        sampled_period=_choose_period(rates.faults * sampled_seconds, _MAX_SAMPLED_FAULTS, sampled_faults),
        stack_seconds=stack_seconds,
        fault_period=_choose_period(faults, max_stacks, budgets["faults"] / seconds_per_stack),
        clock_period=max(_MIN_PERIOD_NANOSECONDS, math.ceil(min(clock_seconds, 1.0) * 1e9)),
        switch_seconds=switch_seconds,
        switch_period=_choose_period(recorded_switches, max_stacks, budgets["switches"] / 2 / seconds_per_stack),
    )


def _choose_period(expected_events: float, max_stacks: int, affordable_stacks: float) -> int:
    """Return N, so that one in N of some expected events gives neither too many stacks nor too costly ones."""
    stack_count = min(float(max_stacks), max(1.0, affordable_stacks))
    return max(1, math.ceil(expected_events / stack_count))


def _compute_seconds(event_count: float, rate: float) -> float:
    return event_count / rate if rate else math.inf
