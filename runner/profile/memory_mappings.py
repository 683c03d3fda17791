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
"""The accessible part of a new arena is smaller than this; that of the equally large areas of Go's runtime is not."""
MAX_GUARD_BYTES = 1 << 16
"""The largest guard below the stack of a thread: one page, of at most 64 KiB."""
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

    def move(self, start: int, new_start: int, size: int) -> "MemoryMapping":
        """Return the mapping of the memory from ``start`` on, moved to ``new_start``, with another size."""
        return replace(self, start=new_start, end=new_start + size, offset=self.offset + start - self.start)

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
    _mappings: list[MemoryMapping] = field(default_factory=list)

    def add(self, mapping: MemoryMapping) -> None:
        """Add a mapping; it replaces what it overlaps."""
        guards_stack = self._becomes_guard(mapping)
        self.remove(mapping.start, mapping.end)
        index = bisect_right(self._starts, mapping.start)
        self._mappings.insert(index, mapping)
        self._starts.insert(index, mapping.start)
        if guards_stack:
            self._mark_stack(mapping.end)

    def remove(self, start: int, end: int) -> None:
        """Remove what is mapped in a range."""
        first_index, end_index = self._find_overlapping(start, end)
        mappings = [
            part
            for old_mapping in self._mappings[first_index:end_index]
            for part in _cut_outside(old_mapping, start, end)
        ]
        self._mappings[first_index:end_index] = mappings
        self._starts[first_index:end_index] = [mapping.start for mapping in mappings]

    def identify_thread_memory(self, mapping: MemoryMapping) -> MemoryMapping:
        """Return a mapping that is about to be added; the stack or the arena of a thread is marked as such.

        A stack has a guard right below, and is mapped together with it. An arena is the accessible beginning of a range
        that malloc has reserved.
        """
        if mapping.memory is not Memory.ANONYMOUS or mapping.reserved:
            return mapping
        replaced, mapping_below = self.find(mapping.start), self.find(mapping.start - 1)
        if mapping.start % _ARENA_BYTES == 0:
            grows = replaced is not None and replaced.memory is Memory.ARENA
            begins = replaced is not None and replaced.reserved and mapping.end - mapping.start < _MAX_NEW_ARENA_BYTES
            return mapping.with_memory(Memory.ARENA) if grows or begins else mapping
        if (
            mapping_below is not None
            and mapping_below.reserved
            and mapping.start - mapping_below.start <= MAX_GUARD_BYTES
        ):
            return mapping.with_memory(Memory.STACK)
        return mapping

    def __iter__(self) -> Iterator[MemoryMapping]:
        return iter(self._mappings)

    def find(self, address: int) -> MemoryMapping | None:
        """Return the mapping that contains an address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._mappings[index].end:
            return self._mappings[index]
        return None

    def copy(self) -> "ProcessMappings":
        """Return the mappings that a child starts with."""
        return ProcessMappings(list(self._starts), list(self._mappings))

    def _becomes_guard(self, mapping: MemoryMapping) -> bool:
        """Return whether the end of anonymous memory is made inaccessible, as the JVM guards its threads' stacks."""
        replaced = self.find(mapping.start)
        is_small = mapping.reserved and mapping.end - mapping.start <= MAX_GUARD_BYTES
        return is_small and replaced is not None and replaced.memory is Memory.ANONYMOUS and not replaced.reserved

    def _mark_stack(self, start: int) -> None:
        """Take the memory that begins above a guard as the stack of a thread."""
        index = bisect_right(self._starts, start) - 1
        mapping_above = self._mappings[index]
        if mapping_above.start == start and mapping_above.memory is Memory.ANONYMOUS and not mapping_above.reserved:
            self._mappings[index] = mapping_above.with_memory(Memory.STACK)

    def _find_overlapping(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of indices of the mappings that may overlap an address range."""
        first_index = max(0, bisect_right(self._starts, start) - 1)
        end_index = first_index
        while end_index < len(self._mappings) and self._starts[end_index] < end:
            end_index += 1
        return first_index, end_index


def _cut_outside(mapping: MemoryMapping, start: int, end: int) -> list[MemoryMapping]:
    """Return the parts of a mapping outside a range."""
    parts = []
    if mapping.start < start:
        parts.append(replace(mapping, end=min(mapping.end, start)))
    if mapping.end > end:
        begin = max(mapping.start, end)
        parts.append(replace(mapping, start=begin, offset=mapping.offset + begin - mapping.start))
    return parts
