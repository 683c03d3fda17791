"""Tracks the memory mappings of processes."""

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.profile import Memory
from runner.profile.script_parser import Mapped

_SHARED_MEMORY_PREFIXES = ("/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage")  # noqa: S108 - names that the kernel gives
_ARENA_BYTES = 64 << 20
"""glibc's malloc reserves arenas of this size, at multiples of it (``HEAP_MAX_SIZE``)."""
_MAX_NEW_ARENA_BYTES = 4 << 20
"""An arena begins with less than this, unlike the areas that Go's runtime reserves in the same size."""
MAX_GUARD_BYTES = 1 << 16
"""The largest guard below the stack of a thread: one page."""
_KERNEL_MAPPINGS = {"[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[uprobes]"}


class MemoryMapping(Struct, frozen=True):
    """A mapped range of memory."""

    start: int
    end: int
    offset: int
    memory: Memory
    kind: str
    """``memory`` as a string: members of an enumeration hash slowly, and each fault looks it up."""
    name: str
    reserved: bool = False
    """Whether the range may not be accessed: it keeps addresses free, or guards what is above it."""

    @classmethod
    def from_event(cls, event: Mapped) -> "MemoryMapping":
        """Return the mapping of an event."""
        memory = classify_memory(event)
        reserved = event.protection.startswith("---")
        return cls(event.start, event.start + event.size, event.offset, memory, memory.value, event.name, reserved)

    def with_memory(self, memory: Memory) -> "MemoryMapping":
        """Return the mapping as one of another kind of memory."""
        return replace(self, memory=memory, kind=memory.value)

    def move(self, start: int, to: int, size: int) -> "MemoryMapping":
        """Return the mapping of the same memory, from an address on, at another address and with another size."""
        return replace(self, start=to, end=to + size, offset=self.offset + start - self.start)

    @property
    def file(self) -> str:
        """The mapped file; empty if there is none."""
        return self.name if self.memory in {Memory.FILE_TEXT, Memory.FILE_DATA} else ""


def classify_memory(event: Mapped) -> Memory:
    """Return the kind of a mapping's memory, from its name and protection."""
    name = event.name
    if name.startswith("[stack"):
        return Memory.STACK
    if name == "[heap]":
        return Memory.HEAP
    if name in _KERNEL_MAPPINGS:
        return Memory.OTHER
    if name.startswith(_SHARED_MEMORY_PREFIXES):
        return Memory.SHARED
    if name == "//anon" or not name.startswith("/"):
        return Memory.SHARED if event.protection.endswith("s") else Memory.ANONYMOUS
    return Memory.FILE_TEXT if "x" in event.protection else Memory.FILE_DATA


class ProcessMappings(Struct):
    """The mappings of one process, without overlaps."""

    _starts: list[int] = field(default_factory=list)
    _all: list[MemoryMapping] = field(default_factory=list)

    def add(self, new: MemoryMapping) -> None:
        """Add a mapping; it replaces what it overlaps."""
        guards_stack = self._becomes_guard(new)
        self.remove(new.start, new.end)
        index = bisect_right(self._starts, new.start)
        self._all.insert(index, new)
        self._starts.insert(index, new.start)
        if guards_stack:
            self._mark_stack(new.end)

    def remove(self, start: int, end: int) -> None:
        """Remove what is mapped in a range."""
        first, last = self._find_overlapping(start, end)
        mappings = [part for old in self._all[first:last] for part in _cut_outside(old, start, end)]
        self._all[first:last] = mappings
        self._starts[first:last] = [mapping.start for mapping in mappings]

    def identify_thread_memory(self, new: MemoryMapping) -> MemoryMapping:
        """Return anonymous memory that is about to be added as the stack or the arena of a thread, if it is one.

        A stack has a guard right below, and is mapped together with it. An arena is the accessible beginning of a range
        that malloc has reserved.
        """
        if new.memory is not Memory.ANONYMOUS or new.reserved:
            return new
        before, below = self.find(new.start), self.find(new.start - 1)
        if new.start % _ARENA_BYTES == 0:
            grows = before is not None and before.memory is Memory.ARENA
            begins = before is not None and before.reserved and new.end - new.start < _MAX_NEW_ARENA_BYTES
            return new.with_memory(Memory.ARENA) if grows or begins else new
        if below is not None and below.reserved and new.start - below.start <= MAX_GUARD_BYTES:
            return new.with_memory(Memory.STACK)
        return new

    def __iter__(self) -> Iterator[MemoryMapping]:
        return iter(self._all)

    def find(self, address: int) -> MemoryMapping | None:
        """Return the mapping that contains an address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._all[index].end:
            return self._all[index]
        return None

    def copy(self) -> "ProcessMappings":
        """Return the mappings that a child starts with."""
        return ProcessMappings(list(self._starts), list(self._all))

    def _becomes_guard(self, new: MemoryMapping) -> bool:
        """Return whether the end of anonymous memory is made inaccessible, as the JVM guards its threads' stacks."""
        before = self.find(new.start)
        is_small = new.reserved and new.end - new.start <= MAX_GUARD_BYTES
        return is_small and before is not None and before.memory is Memory.ANONYMOUS and not before.reserved

    def _mark_stack(self, start: int) -> None:
        """Take the memory that begins above a guard as the stack of a thread."""
        index = bisect_right(self._starts, start) - 1
        above = self._all[index]
        if above.start == start and above.memory is Memory.ANONYMOUS and not above.reserved:
            self._all[index] = above.with_memory(Memory.STACK)

    def _find_overlapping(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of indices of the mappings that may overlap an address range."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = first
        while last < len(self._all) and self._starts[last] < end:
            last += 1
        return first, last


def _cut_outside(old: MemoryMapping, start: int, end: int) -> list[MemoryMapping]:
    """Return the parts of a mapping outside a range."""
    parts = []
    if old.start < start:
        parts.append(replace(old, end=min(old.end, start)))
    if old.end > end:
        begin = max(old.start, end)
        parts.append(replace(old, start=begin, offset=old.offset + begin - old.start))
    return parts
