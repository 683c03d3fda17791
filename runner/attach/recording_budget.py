"""Decides how much of a live process is recorded, so that this costs it at most a given share of its CPU time."""

import math

from msgspec import Struct

from runner.profile.perf_record_options import MAX_STACKS, CallGraph

SECONDS_PER_FAULT = 1.5e-6
"""What recording a fault with its address costs the process, including the second record with the error code."""
SECONDS_PER_CALL, BYTES_PER_CALL = 0.5e-6, 100
"""What recording a system call costs the process, and the size of its record."""
SECONDS_PER_STACK = {"dwarf": 12e-6, "fp": 3e-6, "lbr": 3e-6}
"""What recording a stack costs the process, by the method of unwinding."""
SECONDS_PER_SWITCH = 1.5e-6
"""What recording a context switch costs the process: two records, of leaving and of entering a processor."""
SECONDS_PER_ATTACHED_SWITCH = {"addresses": 0.7e-6, "stacks": 2.5e-6, "switches": 1e-6}
"""What a context switch costs the process while a perf is attached to it, even if nothing is recorded: the kernel takes
the events off the processor and puts them back. The events for stacks cost more, because their clock is stopped and
started."""
_COUNTING_SECONDS = 0.5
"""The number of seconds for which the process is only counted at first, to learn its rates."""
_MIN_SECONDS = 0.05
"""The shortest time in seconds for which addresses, switches and stacks are each recorded, even beyond the budget: with
less, nothing would be known about them."""
_MAX_ADDRESS_SHARE = 0.4
"""Faults are recorded with their addresses in at most this share of the time."""
_MAX_SWITCH_SHARE = 0.2
"""Context switches are recorded in at most this share of the time."""
_MIN_SAMPLED_SECONDS = 0.05
"""A recording of sampled addresses that is shorter than this, in seconds, is not worth a perf of its own."""
_MIN_RECORDED_FAULTS = 300
"""This many faults may be recorded even beyond the budget, because they cost less than a millisecond. With fewer
sampled faults, the short recording of all faults would decide alone what happened to their pages before."""
_MAX_SAMPLED_FAULTS = 50_000
"""The largest number of faults that a sample is planned for."""
_MAX_CALLS = 100_000
"""The largest number of recorded calls, which can be read in a few seconds."""
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
"""The share of the budget for each kind of record. The shares with ``-attached`` are for the additional cost of context
switches while a perf is attached, without any records."""
_MAX_OVERRUN = 2
"""A recording may cost at most this many times its share of the budget: a plan is an estimate."""
_MIN_PERIOD_NANOSECONDS = 100_000
"""The shortest CPU time between two sampled stacks."""


class Rates(Struct, frozen=True):
    """What processes use per second: faults, context switches, and seconds of CPU time."""

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
        The number of faults at which this recording ends, if they are more than expected.
    max_call_bytes
        The largest size of the recording of calls that map and return memory. When it is reached, faults are sampled
        immediately, and the recording of calls ends with them, or before them if the program hardly faults meanwhile:
        it shows what happened to their pages before.
    sampled_seconds, sampled_period
        For how long one in ``sampled_period`` faults is recorded with its address, at the end. Memory that is returned
        rarely, such as the heap of a runtime, is seen only in this longer time. 0 seconds if recording each fault
        takes up the time for addresses.
    switch_seconds
        For how long context switches are recorded, after the addresses.
    switch_period
        One in this many switches is recorded with its stack.
    stack_seconds
        For how long stacks are recorded, after the switches.
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
    """Return for how many seconds of an observation a process is only counted before it is recorded."""
    return min(_COUNTING_SECONDS, seconds / 10)


def plan_recording(rates: Rates, seconds: float, max_overhead: float, call_graph: CallGraph) -> RecordingBudget:
    """Plan the recording of a process for some seconds.

    Parameters
    ----------
    rates
        What the process used per second while it was only counted.
    seconds
        How long the recording lasts.
    max_overhead
        The largest share of its CPU time that recording may cost the process.
    """
    seconds_per_stack = SECONDS_PER_STACK[call_graph]
    # The CPU time that each kind of record may cost the process.
    budgets = {name: share * max_overhead * rates.cpu * seconds for name, share in _BUDGET_SHARES.items()}
    # What a second of each kind of recording costs because perf is attached, without any records.
    attached = {kind: price * rates.switches for kind, price in SECONDS_PER_ATTACHED_SWITCH.items()}

    # Faults with their addresses: each of them at the beginning, and a sample of them at the end.
    address_seconds = min(
        _MAX_ADDRESS_SHARE * seconds,
        max(_MIN_SECONDS, _divide(budgets["addresses"], attached["addresses"] + rates.faults * SECONDS_PER_FAULT)),
    )
    sampled_seconds = min(
        _MAX_ADDRESS_SHARE * seconds - address_seconds, _divide(budgets["sampled-attached"], attached["addresses"])
    )
    if sampled_seconds < _MIN_SAMPLED_SECONDS:
        sampled_seconds = 0.0
    sampled_faults = max(_MIN_RECORDED_FAULTS, budgets["sampled"] / SECONDS_PER_FAULT)

    # Context switches, after the first addresses. Half of their budget is for stacks.
    max_stacks = MAX_STACKS[call_graph]
    switch_seconds = min(
        _MAX_SWITCH_SHARE * seconds,
        max(
            _MIN_SECONDS,
            _divide(budgets["switches"] / 2, attached["switches"] + rates.switches * SECONDS_PER_SWITCH),
        ),
    )

    # Stacks of faults and of CPU time: as many as the budget allows, up to a number that is informative enough.
    stack_seconds = min(
        seconds - address_seconds - sampled_seconds - switch_seconds,
        max(_MIN_SECONDS, _divide(budgets["stacks-attached"], attached["stacks"])),
    )
    # The CPU time between two sampled stacks, at most a second.
    clock_seconds = max(
        _divide(rates.cpu * stack_seconds * seconds_per_stack, budgets["clock"]),
        rates.cpu * stack_seconds / max_stacks,
    )
    return RecordingBudget(
        address_seconds=address_seconds,
        max_faults=int(max(_MIN_RECORDED_FAULTS, budgets["addresses"] / SECONDS_PER_FAULT)),
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


def shorten_sampling(budget: RecordingBudget, seconds: float) -> tuple[float, int]:
    """Return for how many seconds, and one in how many faults is sampled if at most ``seconds`` are left for it.

    In a shorter time, a larger share of the faults is recorded, so that their number and price stay about as planned.
    """
    shortened_seconds = min(budget.sampled_seconds, seconds)
    if shortened_seconds <= 0:
        return 0.0, budget.sampled_period
    return shortened_seconds, max(1, round(budget.sampled_period * shortened_seconds / budget.sampled_seconds))


def is_too_expensive(cost_seconds: float, cpu_seconds: float, max_overhead: float, *kinds: str) -> bool:
    """Return whether recording has cost much more than the shares of the budget that are for these kinds of records.

    Parameters
    ----------
    cost_seconds
        CPU time that the recording has cost the processes so far.
    cpu_seconds
        CPU time that the processes use.
    max_overhead
        The largest share of this time that all recordings together may cost.
    kinds
        Names of shares: keys of ``_BUDGET_SHARES``.
    """
    share = sum(_BUDGET_SHARES[kind] for kind in kinds)
    return cost_seconds > _MAX_OVERRUN * share * max_overhead * cpu_seconds


def _choose_period(expected_events: float, max_records: int, affordable_records: float) -> int:
    """Return the smallest N for which records of one in N expected events are neither too many nor too expensive."""
    n_records = min(float(max_records), max(1.0, affordable_records))
    return max(1, math.ceil(expected_events / n_records))


def _divide(budget: float, price: float) -> float:
    """Return how much a budget buys at a price; infinity if the price is zero."""
    return budget / price if price else math.inf
