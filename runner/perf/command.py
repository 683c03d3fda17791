"""The perf stat command line around a case."""

from collections.abc import Sequence
from pathlib import Path

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
"""Counted for every case. Where a machine lacks one, that is what the report says."""
OWN_CLOCKS = ("user_time", "system_time", "duration_time")
"""What perf can only tell of a program that it starts itself. The launcher tells it of the others."""
ATTACHED_EVENTS = tuple(event for event in STANDARD_EVENTS if event not in OWN_CLOCKS)

SEPARATOR = ";"
"""Of perf's CSV output. Not a comma: event names of hardware PMUs contain those."""


def perf_stat(command: Sequence[str], output: Path, events: Sequence[str] = STANDARD_EVENTS) -> list[str]:
    """Return the command line that runs a command under perf stat.

    perf opens the counters disabled and enables them at the exec of the command (``enable_on_exec``), so that neither
    perf nor whatever started it is counted. They follow every process and thread that the command starts.
    """
    return ["perf", "stat", "-x", SEPARATOR, "-o", str(output), "-e", ",".join(events), "--", *command]
