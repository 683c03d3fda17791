"""Reads from ``/proc`` what processes have used so far, and what their threads wait for.

This needs no permission, except for the waits: of a process that this user may not trace, the kernel shows ``wchan`` as
0, as if its threads did not wait.
"""

import os
import re
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from runner.system.tree import Tree

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_FIGURE_FIELDS = 21
"""How many fields of ``stat`` after the name and the state are read. The resident pages are the last of them."""
_MAX_THREADS = 256
"""The largest number of threads that are sampled."""
_MAX_SYMBOL_BYTES = 200
"""The largest number of bytes that are read of the name of a kernel function."""
_LOCK_WAIT = re.compile(
    r"rwsem_down_.*|down_(?:read|write)(?:_killable)?|vm_mmap_pgoff|__vm_munmap|do_madvise.*|madvise_.*lock.*|"
    r"lock_mm_and_find_vma|mmap_(?:read|write)_lock.*|do_mprotect_pkey.*|__(?:do|x64|arm64)_sys_(?:brk|munmap|mremap)|"
    r"do_user_addr_fault|exc_page_fault|vma_start_(?:read|write).*|lock_vma_under_rcu"
)
"""Kernel functions in which a thread waits for the lock of its address space, as ``wchan`` names them: it leaves out
the functions of the scheduler."""
_STORAGE_WAIT = re.compile(r"folio_wait_bit.*|wait_on_page.*|__?folio_lock.*|io_schedule.*|filemap_.*|swap_.*|bio_.*")


class Figures(Struct, frozen=True):
    """What some processes and their ended children have used since they started.

    Attributes
    ----------
    minor, major
        Page faults of either kind.
    user, system
        CPU time of either kind, in seconds.
    switches
        How often their threads were put on a processor.
    resident
        Their current resident memory, in bytes.
    threads, processes
        Their current numbers.
    """

    minor: int = 0
    major: int = 0
    user: float = 0.0
    system: float = 0.0
    switches: int = 0
    resident: int = 0
    threads: int = 0
    processes: int = 0

    @property
    def faults(self) -> int:
        """Page faults of both kinds."""
        return self.minor + self.major

    @property
    def cpu(self) -> float:
        """The total CPU time, in seconds."""
        return self.user + self.system


class Waits(Struct, frozen=True):
    """The number of samples of threads, and in how many of them the thread waited for a lock or for storage."""

    samples: int = 0
    lock: int = 0
    storage: int = 0

    def add(self, other_waits: "Waits") -> "Waits":
        """Return the sum of these waits and others."""
        return Waits(
            self.samples + other_waits.samples, self.lock + other_waits.lock, self.storage + other_waits.storage
        )


class Interval(Struct, frozen=True):
    """What processes used in a period of time.

    Attributes
    ----------
    seconds
        The length of the period.
    used_figures
        The differences of the counts, and the values of ``resident``, ``threads`` and ``processes`` at the end.
    resident_growth
        The growth of the resident memory, in bytes.
    """

    seconds: float
    used_figures: Figures
    resident_growth: int
    waits: Waits = Waits()

    @property
    def system_share(self) -> float:
        """The share of the CPU time that was spent in the kernel."""
        return self.used_figures.system / self.used_figures.cpu if self.used_figures.cpu else 0.0


def compute_interval(before: Figures, after: Figures, seconds: float, waits: Waits = Waits()) -> Interval:  # noqa: B008 - immutable
    """Return what processes used between two readings.

    If a process ends whose parent is not observed, its counts disappear from the sums. A difference that would become
    negative is therefore zero.
    """
    used = replace(
        after,
        minor=max(0, after.minor - before.minor),
        major=max(0, after.major - before.major),
        user=max(0.0, after.user - before.user),
        system=max(0.0, after.system - before.system),
        switches=max(0, after.switches - before.switches),
    )
    return Interval(seconds, used, after.resident - before.resident, waits)


def read_figures(tree: Tree, pids: Sequence[int]) -> Figures:
    """Return the sums of several processes' figures; processes that have ended meanwhile are left out."""
    minor = major = switches = resident = threads = processes = 0
    user = system = 0
    for pid in pids:
        fields = (tree.read_text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
        try:
            numbers = [int(field) for field in fields[1 : _FIGURE_FIELDS + 1]]
        except ValueError:
            continue
        if len(numbers) < _FIGURE_FIELDS:
            continue  # The process has ended.
        # Index i is field i + 4 of proc(5). Of the process: 6 minor faults, 8 major faults, 10 user time, 11 system
        # time, 16 threads, 20 resident pages. Of its ended children: 7, 9, 12 and 13, in the same order as 6 to 11.
        minor += numbers[6] + numbers[7]
        major += numbers[8] + numbers[9]
        user += numbers[10] + numbers[12]
        system += numbers[11] + numbers[13]
        if fields[0] in "ZX":
            continue  # A zombie has no threads and no memory, but its counts, which its parent does not have yet.
        threads += numbers[16]
        resident += numbers[20]
        processes += 1
        switches += _count_switches(tree, pid, numbers[16])
    return Figures(
        minor=minor,
        major=major,
        user=user / TICKS_PER_SECOND,
        system=system / TICKS_PER_SECOND,
        switches=switches,
        resident=resident * _PAGE_BYTES,
        threads=threads,
        processes=processes,
    )


def sample_waits(tree: Tree, pids: Sequence[int]) -> Waits:
    """Sample each thread once, up to a number: whether it waits for its process's mmap lock, or for storage."""
    n_samples = n_lock_waits = n_storage_waits = 0
    threads = (f"proc/{pid}/task/{name}/wchan" for pid in pids for name in list_threads(tree, pid))
    for file in islice(threads, _MAX_THREADS):
        wait_channel = tree.read_text(file, _MAX_SYMBOL_BYTES)
        if wait_channel is None:
            continue
        n_samples += 1
        n_lock_waits += _LOCK_WAIT.fullmatch(wait_channel) is not None
        n_storage_waits += _STORAGE_WAIT.fullmatch(wait_channel) is not None
    return Waits(samples=n_samples, lock=n_lock_waits, storage=n_storage_waits)


def list_threads(tree: Tree, pid: int) -> list[str]:
    """Return the ids of the threads of a process, as text."""
    return tree.list_folder(f"proc/{pid}/task")


def _count_switches(tree: Tree, pid: int, n_threads: int) -> int:
    """Return how often a process's threads were put on a processor; estimated from some threads if there are many."""
    names = list_threads(tree, pid)[:_MAX_THREADS]
    n_switches = 0
    for name in names:
        fields = (tree.read_text(f"proc/{pid}/task/{name}/schedstat", 200) or "").split()
        if len(fields) == 3 and fields[2].isdecimal():  # the number of times that it was put on a processor
            n_switches += int(fields[2])
    return n_switches * n_threads // len(names) if names and n_threads > len(names) else n_switches
