"""The events that perf counts, and the command line that runs a command under perf stat."""

from collections.abc import Sequence
from pathlib import Path

from runner.perf.perf_binary import get_perf_program

STANDARD_EVENTS = (
    "minor-faults",
    "major-faults",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "task-clock",
    "user_time",
    "system_time",
    "duration_time",
    "instructions",
    "cycles",
    "dTLB-load-misses",
    "cache-misses",
)
"""The events of every case. If a machine lacks one, the report says so."""
OWN_CLOCKS = ("user_time", "system_time", "duration_time")
"""Events that perf can count only for a program that it starts itself. The launcher measures them instead."""
ATTACHED_EVENTS = tuple(event for event in STANDARD_EVENTS if event not in OWN_CLOCKS)

LOCK_WAIT_EVENT = "lock:contention_begin"
"""A thread begins to wait for a lock of the kernel (since Linux 5.19)."""

SEPARATOR = ";"
"""The separator of perf's CSV output. Not a comma, because event names of hardware PMUs contain commas."""


def build_perf_stat_command(command: Sequence[str], output: Path, events: Sequence[str] = STANDARD_EVENTS) -> list[str]:
    """Return the command line that runs a command under perf stat.

    perf opens the counters disabled and enables them at the exec of the command (``enable_on_exec``), so that neither
    perf nor its parent is counted. They follow every process and thread that the command starts.
    """
    return [get_perf_program(), "stat", "-x", SEPARATOR, "-o", str(output), "-e", ",".join(events), "--", *command]
