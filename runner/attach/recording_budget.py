"""Decides how thinly a live process is recorded, so that it loses at most a share of its time. Pure."""

import math

from msgspec import Struct

from runner.profile.recording_plan import MAX_STACKS, CallGraph

SECONDS_PER_FAULT = 1.5e-6
"""What the record of a fault with its address costs the process; with the processor's error code, two records."""
SECONDS_PER_CALL, BYTES_PER_CALL = 0.5e-6, 100
"""What the record of a system call costs the process, and its size in a recording."""
SECONDS_PER_STACK = {"dwarf": 12e-6, "fp": 3e-6, "lbr": 3e-6}
"""What the record of a stack costs the process."""
SECONDS_PER_SWITCH = 1.5e-6
"""What the two records of leaving and entering a processor cost the process."""
SECONDS_PER_ATTACHED_SWITCH = {"addresses": 0.7e-6, "stacks": 2.5e-6, "switches": 1e-6}
"""What a switch costs the process while a perf is attached to it, even if nothing is recorded: the kernel takes the
events off the processor and puts them back. Those of stacks cost more: they have a clock, which stops and starts."""
_COUNTING_SECONDS = 0.5
"""How long the process is only counted at first, for the rates."""
_MIN_SECONDS = 0.05
"""The shortest time for which addresses, switches, and stacks, are recorded: without any, nothing is known."""
_MAX_ADDRESS_SHARE = 0.4
"""The largest share of the time in which faults are recorded with their addresses."""
_MAX_SWITCH_SHARE = 0.2
"""The largest share of the time in which threads are recorded as they leave and enter processors."""
_MIN_SAMPLED_SECONDS = 0.05
"""A shorter recording of sampled addresses is not worth a perf of its own."""
_MAX_SAMPLED_FAULTS = 50_000
_MAX_CALLS = 100_000
"""So many calls are read in a few seconds."""
_BUDGET_SHARES = {
    "addresses": 0.15,
    "calls": 0.15,
    "sampled-attached": 0.15,
    "sampled": 0.05,
    "stacks-attached": 0.2,
    "faults": 0.1,
    "clock": 0.1,
    "switches": 0.1,
}
"""The share of each kind of record; ``attached`` is for the switches meanwhile, apart from their own records."""
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
        For how long each fault is recorded with its address.
    max_faults
        After how many faults that ends, if they become more than expected.
    max_call_bytes
        How large the recording of the calls may become that map and return memory. It then ends with the sampled
        faults, to whose pages the calls tell what happened before.
    sampled_seconds, sampled_period
        For how long, finally, one in ``sampled_period`` faults is recorded with its address: what is given back seldom,
        as a runtime gives back a heap, is seen only in a longer time. 0 seconds if each fault can be recorded for long
        enough.
    switch_seconds
        For how long threads are recorded, afterwards, as they leave and enter processors.
    switch_period
        One in this many switches is recorded with its stack.
    stack_seconds
        For how long stacks are recorded then.
    fault_period, clock_period
        One in ``fault_period`` faults is recorded with its stack, and the stack is sampled once in ``clock_period``
        nanoseconds of CPU time.
    """

    address_seconds: float
    max_faults: int
    max_call_bytes: int
    sampled_seconds: float
    sampled_period: int
    switch_seconds: float
    switch_period: int
    stack_seconds: float
    fault_period: int
    clock_period: int


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
    # What a second of each kind costs while perf is attached, before anything is recorded.
    attached = {kind: price * rates.switches for kind, price in SECONDS_PER_ATTACHED_SWITCH.items()}

    # First each fault with its address, then only some of them.
    address_seconds = min(
        _MAX_ADDRESS_SHARE * seconds,
        max(_MIN_SECONDS, _divide(budgets["addresses"], attached["addresses"] + rates.faults * SECONDS_PER_FAULT)),
    )
    sampled_seconds = min(
        _MAX_ADDRESS_SHARE * seconds - address_seconds, _divide(budgets["sampled-attached"], attached["addresses"])
    )
    if sampled_seconds < _MIN_SAMPLED_SECONDS:
        sampled_seconds = 0.0
    sampled_faults = min(_MAX_SAMPLED_FAULTS, budgets["sampled"] / SECONDS_PER_FAULT)

    # Then threads that leave and enter processors. Half of this budget is for their stacks.
    max_stacks = MAX_STACKS[call_graph]
    switch_seconds = min(
        _MAX_SWITCH_SHARE * seconds,
        max(
            _MIN_SECONDS,
            _divide(budgets["switches"] / 2, attached["switches"] + rates.switches * SECONDS_PER_SWITCH),
        ),
    )

    # Then stacks of faults and of CPU time, up to a number that says enough, and as many as the budget allows.
    stack_seconds = min(
        seconds - address_seconds - sampled_seconds - switch_seconds,
        max(_MIN_SECONDS, _divide(budgets["stacks-attached"], attached["stacks"])),
    )
    clock_seconds = max(
        _divide(rates.cpu * stack_seconds * seconds_per_stack, budgets["clock"]),
        rates.cpu * stack_seconds / max_stacks,
    )
    return RecordingBudget(
        address_seconds=address_seconds,
        max_faults=int(budgets["addresses"] / SECONDS_PER_FAULT),
        max_call_bytes=int(min(_MAX_CALLS, budgets["calls"] / SECONDS_PER_CALL) * BYTES_PER_CALL),
        sampled_seconds=sampled_seconds,
        sampled_period=_choose_period(rates.faults * sampled_seconds, _MAX_SAMPLED_FAULTS, sampled_faults),
        stack_seconds=stack_seconds,
        fault_period=_choose_period(rates.faults * stack_seconds, max_stacks, budgets["faults"] / seconds_per_stack),
        clock_period=max(_MIN_PERIOD_NANOSECONDS, math.ceil(min(clock_seconds, 1.0) * 1e9)),
        switch_seconds=switch_seconds,
        switch_period=_choose_period(
            rates.switches * switch_seconds, max_stacks, budgets["switches"] / 2 / seconds_per_stack
        ),
    )


def _choose_period(expected_events: float, max_stacks: int, affordable_stacks: float) -> int:
    """Return N, so that one in N of some expected events gives neither too many stacks nor too costly ones."""
    stack_count = min(float(max_stacks), max(1.0, affordable_stacks))
    return max(1, math.ceil(expected_events / stack_count))


def _divide(budget: float, price: float) -> float:
    """Return how much a budget buys: anything, if it costs nothing."""
    return budget / price if price else math.inf
