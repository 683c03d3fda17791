"""Reads from ``/proc`` what the processes of a server have used so far."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessFigures(Struct, frozen=True):
    """The CPU time of processes, including their ended children, in seconds, and their resident memory in bytes."""

    user: float = 0.0
    system: float = 0.0
    resident: int = 0


class ThreadActivity(Struct, frozen=True):
    """How long threads have run, as the scheduler counts it, and whether any of them runs or waits for a processor."""

    nanoseconds: int = 0
    is_runnable: bool = False


def read_process_figures(pids: Sequence[int], proc: Path = Path("/proc")) -> ProcessFigures:
    """Return the sums over processes. A process that has ended contributes nothing.

    Pages that several processes share are counted in each of them.
    """
    user = system = resident = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            # The program's name, in brackets, may contain spaces and brackets. Index 0 after it is field 3 in proc(5),
            # so the indexes are 11 utime, 12 stime, 13 cutime, 14 cstime and 21 rss.
            fields = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
            resident += int(fields[21])
    return ProcessFigures(user / _TICKS_PER_SECOND, system / _TICKS_PER_SECOND, resident * _PAGE_BYTES)


def read_activity(pids: Sequence[int], proc: Path = Path("/proc")) -> ThreadActivity:
    """Return the activity of all threads of these processes so far. Ended threads contribute nothing."""
    nanoseconds, is_runnable = 0, False
    for pid in pids:
        with suppress(OSError):
            for task in (proc / str(pid) / "task").iterdir():
                # The first field of schedstat is the time on a processor. In stat, the state follows the name.
                with suppress(OSError, ValueError, IndexError):
                    nanoseconds += int((task / "schedstat").read_text(encoding="ascii").split()[0])
                with suppress(OSError, IndexError):
                    status = (task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                    is_runnable = is_runnable or status[0] == "R"
    return ThreadActivity(nanoseconds, is_runnable)
