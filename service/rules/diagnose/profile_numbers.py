"""Extracts from a profile the facts that the rules look at, each from its most reliable source. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runner.contract.profile import Anatomy, Area, Memory, Profile, StackProfile, Touch
from runner.contract.profile_difference import own_frame

_FAULTING = re.compile(r"(?:asm_)?exc_page_fault|(?:__)?do_page_fault|do_user_addr_fault|handle_mm_fault|do_mem_abort")
_MAPPING = re.compile(
    r"(?:__(?:x64|arm64)_sys_|__do_sys_|ksys_|__se_sys_|sys_)(?:munmap|madvise|brk|mremap|mmap(?:_pgoff)?)"
)
_LOCKING = re.compile(r"rwsem_down_(?:read|write)_(?:slowpath|failed).*|__?mmap_lock.*|mmap_(?:read|write)_lock.*")
_MEMORY_CALLS = re.compile(
    r".*(?:munmap|mmap|madvise|brk|mremap|mprotect).*|" + _FAULTING.pattern + r"|lock_mm_and_find_vma|vma_.*"
)
_TAKING = ("mmap", "brk", "mremap")
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one profile.

    Attributes
    ----------
    faults
        Faults of the first process, in the scope of the profile.
    fault_cost, call_cost
        Shares of the CPU time spent in faults, and in the system calls that take memory and give it back.
    lock_wait
        Seconds for which threads waited for the lock of their address space.
    cpu_seconds
        CPU time of the first process.
    operations
        Operations of the first process; None where the program does not report them.
    """

    profile: Profile
    anatomy: Anatomy
    faults: int
    fault_cost: float
    call_cost: float
    lock_wait: float
    cpu_seconds: float
    operations: float | None

    @classmethod
    def of(cls, profile: Profile) -> Facts:
        """Extract the facts of a profile."""
        anatomy = profile.anatomy or Anatomy(counted=0, recorded=0, pages=0, by_memory={}, by_touch={}, by_access={})
        fault_cost, call_cost = _costs(profile)
        cpu = _first(profile, "region:task-clock", "task-clock") / profile.processes
        return cls(
            profile=profile,
            anatomy=anatomy,
            faults=anatomy.counted,
            fault_cost=fault_cost,
            call_cost=call_cost,
            lock_wait=_lock_wait(profile, profile.off_cpu) / 1e9,
            cpu_seconds=cpu,
            operations=profile.operations / profile.processes if profile.operations else None,
        )

    @property
    def cost(self) -> float:
        """Share of the CPU time spent on taking memory, touching it and giving it back."""
        return self.fault_cost + self.call_cost

    def share(self, *kinds: Touch | Memory) -> float:
        """Return the share of some kinds among the faults."""
        faults = 0
        for kind in kinds:
            faults += (
                self.anatomy.by_touch.get(kind, 0) if isinstance(kind, Touch) else self.anatomy.by_memory.get(kind, 0)
            )
        return faults / self.faults if self.faults else 0.0

    @property
    def of_program(self) -> float:
        """Share of the faults in memory that the program itself requested."""
        return self.share(Memory.HEAP, Memory.ANONYMOUS, Memory.SHARED)

    def calls(self, *names: str) -> int:
        """Return how often some system calls were made."""
        census = self.profile.census
        return sum(census.calls[name].calls for name in names if name in census.calls) if census else 0

    @property
    def takes_per_operation(self) -> float | None:
        """How often an operation requests memory from the kernel; None where operations are unknown."""
        return self.calls(*_TAKING) / self.operations if self.operations else None

    @property
    def largest(self) -> Area | None:
        """The memory area with the most faults."""
        return self.anatomy.areas[0] if self.anatomy.areas else None

    @property
    def where(self) -> str:
        """The function with the most faults, as a sentence; empty where no sites are known."""
        sums: Counter[str] = Counter()
        for site in self.anatomy.sites:
            sums[site.frame.function] += site.faults
        if not sums:
            return ""
        ((function, faults),) = sums.most_common(1)
        return f"{faults:,} of the faults are in {short(function)}{self._call_path()}"

    def lines(self) -> tuple[str, ...]:
        """Return the facts as lines of text."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.faults:,} faults on {self.anatomy.pages:,} pages{self._ratio()}, {self.anatomy.major:,} major"
        for title, table in (("by memory", self.anatomy.by_memory), ("by touch", self.anatomy.by_touch)):
            if table:
                yield f"{title}: " + ", ".join(f"{kind.value} {number:,}" for kind, number in table.items())
        yield f"{self.fault_cost:.0%} of the CPU time goes into faults, {self.call_cost:.0%} into mapping and unmapping"
        yield f"threads waited {self.lock_wait:.3g} s for the mmap lock, in {self.cpu_seconds:.3g} s of CPU time"
        if self.profile.census:
            counts = (f"{name} {call.calls:,}" for name, call in self.profile.census.calls.items())
            yield "system calls: " + (", ".join(counts) or "none that take memory or give it back")
        if self.where:
            yield self.where

    def _ratio(self) -> str:
        ratio = self.anatomy.refault_ratio
        return f" ({ratio:.3g} each)" if ratio else ""

    def _call_path(self) -> str:
        """Describe the heaviest stack: the program's own innermost line, and the innermost functions."""
        stacks = self.profile.faults.stacks if self.profile.faults else ()
        if not stacks:
            return ""
        frames = [self.profile.frames[place] for place in stacks[0].frames]
        own = own_frame(frames)
        line = f", called at {own.file.rpartition('/')[2]}:{own.line}" if own and own.file else ""
        return f"{line} ({' ← '.join(short(frame.function) for frame in reversed(frames[-4:]))})"


def _costs(profile: Profile) -> tuple[float, float]:
    """Return the shares of faults and of mapping; without recorded CPU time, the system share is the best estimate."""
    on_cpu = profile.on_cpu
    if on_cpu is None or not on_cpu.total:
        return _first(profile, "sys-percent") / 100, 0.0
    faults, calls = _frames_of(profile, _FAULTING), _frames_of(profile, _MAPPING)
    faulting = mapping = 0
    for stack in on_cpu.stacks:
        if not faults.isdisjoint(stack.frames):
            faulting += stack.weight
        elif not calls.isdisjoint(stack.frames):
            mapping += stack.weight
    return faulting / on_cpu.total, mapping / on_cpu.total


def _lock_wait(profile: Profile, off_cpu: StackProfile | None) -> int:
    """Return the nanoseconds for which threads waited for the lock of their address space."""
    locking, calling = _frames_of(profile, _LOCKING), _frames_of(profile, _MEMORY_CALLS)
    return sum(
        stack.weight
        for stack in (off_cpu.stacks if off_cpu else ())
        if not locking.isdisjoint(stack.frames) and not calling.isdisjoint(stack.frames)
    )


def _frames_of(profile: Profile, functions: re.Pattern[str]) -> frozenset[int]:
    """Return the indices of the frames of some functions: far fewer frames than stacks have to be matched."""
    return frozenset(place for place, frame in enumerate(profile.frames) if functions.fullmatch(frame.function))


def _first(profile: Profile, *names: str) -> float:
    return next((value for name in names if (value := profile.value(name)) is not None), 0.0)


def short(function: str) -> str:
    """Return a function's name, shortened where templates make it very long."""
    return function if len(function) <= 60 else function[:59] + "…"
