"""Reads the memory counters and the memory stalls of a control group."""

import re
from pathlib import Path

from runner.contract.report import Reading, Status

GROUP_PREFIX = "cgroup:"
GROUP_COUNTERS = ("pgfault", "pgmajfault", "thp_fault_alloc", "workingset_refault_anon", "workingset_refault_file")
"""Counters in ``memory.stat``. Control groups of version 1 have only the first two; older kernels lack some."""
_STALL_METRICS = {"some": "memory-stall-some", "full": "memory-stall-full"}
_OUTDATED_REASON = "the kernel had not added up the group's counters yet"
_TOTAL = re.compile(r"^(some|full) .*\btotal=(\d+)$", re.MULTILINE)


def read_memory_readings(folder: Path | None, min_faults: int = 0) -> dict[str, Reading]:
    """Return the counters of a group, with names that start with :data:`GROUP_PREFIX`; empty without a group.

    A counter that the kernel lacks is reported as not supported, not as zero. If the kernel does not account memory
    pressure, these readings are absent. Since Linux 5.16 the kernel adds up the counters of all processors only every
    two seconds, or after many changes. A sum that is out of date is left out, with the reason.

    Parameters
    ----------
    min_faults
        The faults of the group's processes by their own accounts. If the group has fewer, its sums are out of date.
    """
    if folder is None:
        return {}
    counts = _read_counters(folder)
    if counts.get("pgfault", min_faults) < min_faults:
        readings = {
            GROUP_PREFIX + name: Reading(status=Status.NOT_COUNTED, reason=_OUTDATED_REASON)
            for name in GROUP_COUNTERS
            if name in counts
        }
    else:
        readings = {GROUP_PREFIX + name: _make_reading(counts.get(name)) for name in GROUP_COUNTERS}
    for kind, total in _TOTAL.findall(_read_text(folder / "memory.pressure")):
        # The kernel counts microseconds.
        readings[GROUP_PREFIX + _STALL_METRICS[kind]] = Reading(value=int(total) / 1e6)
    return readings


def count_group_faults(folder: Path | None) -> int:
    """Return the faults of a group that the kernel has added up so far; 0 without a group."""
    return 0 if folder is None else _read_counters(folder).get("pgfault", 0)


def _read_counters(folder: Path) -> dict[str, int]:
    """Return all counters in the ``memory.stat`` of a group; empty if it cannot be read."""
    lines = (line.split() for line in _read_text(folder / "memory.stat").splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _make_reading(count: int | None) -> Reading:
    if count is None:
        return Reading(status=Status.NOT_SUPPORTED, reason="this kernel's control groups do not count it")
    return Reading(value=count)


def _read_text(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
