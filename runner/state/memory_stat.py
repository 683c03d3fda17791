"""What a control group counted of the memory of all that ran in it, and how long it stalled for memory."""

import re
from pathlib import Path

from runner.contract.report import Reading, Status

PREFIX = "cgroup:"
COUNTERS = ("pgfault", "pgmajfault", "thp_fault_alloc", "workingset_refault_anon", "workingset_refault_file")
"""Lines of ``memory.stat``. Version 1 has only the first two, older kernels of version 2 not all."""
_STALLS = {"some": "memory-stall-some", "full": "memory-stall-full"}
_TOTAL = re.compile(r"^(some|full) .*\btotal=(\d+)$", re.MULTILINE)


def memory_readings(folder: Path | None) -> dict[str, Reading]:
    """Read a group's counters, under names with :data:`PREFIX`; nothing where there is no group.

    A counter that this kernel does not keep is not supported, which is not the same as zero. Pressure that the kernel
    does not account at all stays absent.
    """
    if folder is None:
        return {}
    lines = (line.split() for line in _read(folder / "memory.stat").splitlines())
    counts = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}
    found = {PREFIX + name: _reading(counts.get(name)) for name in COUNTERS}
    for kind, total in _TOTAL.findall(_read(folder / "memory.pressure")):
        found[PREFIX + _STALLS[kind]] = Reading(value=int(total) / 1e6)
    return found


def _reading(count: int | None) -> Reading:
    if count is None:
        return Reading(status=Status.NOT_SUPPORTED, reason="the control groups of this kernel do not count it")
    return Reading(value=count)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
