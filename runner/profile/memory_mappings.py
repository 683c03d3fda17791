"""Tracks the memory mappings of processes."""

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.profile import Memory
from runner.profile.script_parser import Mapped

SHARED_MEMORY_PREFIXES = ("/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage")  # noqa: S108 - names that the kernel gives
"""How the names of shared memory begin: they look like paths, but are in no folder."""
_ARENA_BYTES = 64 << 20
"""The size of the arenas that glibc's malloc reserves, at multiples of this size (``HEAP_MAX_SIZE``)."""
_MAX_NEW_ARENA_BYTES = 4 << 20
"""An upper bound of the accessible part of a new arena. Go's runtime reserves areas of the same size, but makes more of
them accessible."""
MAX_GUARD_BYTES = 1 << 16
"""The largest guard below the stack of a thread: one page, of at most 64 KiB."""
_MAX_STACK_BYTES = 128 << 20
"""How far below the stack the kernel maps nothing else (``MIN_GAP``), so that the stack can grow."""
_MAIN_STACK = "[stack]"
_KERNEL_MAPPINGS = {"[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[uprobes]"}


class MemoryMapping(Struct, frozen=True):
    """A mapped range of memory."""

    start: int
    end: int
    offset: int
    memory: Memory
    kind: str
    """``memory`` as a string, which is looked up at each fault: members of an enumeration hash slowly."""
    name: str
    reserved: bool = False
    """Whether the range is inaccessible: it reserves addresses, or guards the memory above it."""

    @classmethod
    def from_event(cls, event: Mapped) -> "MemoryMapping":
        """Return the mapping that an event describes, judging only by the event: see :meth:`.identify_use`."""
        memory = classify_memory(event)
        reserved = event.protection.startswith("---")
        return cls(event.start, event.start + event.size, event.offset, memory, memory.value, event.name, reserved)

    def with_memory(self, memory: Memory) -> "MemoryMapping":
        """Return the mapping with another kind of memory."""
        return replace(self, memory=memory, kind=memory.value)

    def move(self, start: int, new_start: int, size: int) -> "MemoryMapping":
        """Return the part of the mapping from ``start`` on, moved to ``new_start`` and resized to ``size`` bytes."""
        return replace(self, start=new_start, end=new_start + size, offset=self.offset + start - self.start)

    def rename(self, name: str) -> "MemoryMapping":
        """Return the mapping with another name."""
        return replace(self, name=name)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.end - self.start

    @property
    def fixed_address(self) -> int:
        """The end that stays when the mapping grows: the last address of the stack, and the first of all others."""
        return self.end - 1 if self.name == _MAIN_STACK else self.start

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
    if name.startswith(SHARED_MEMORY_PREFIXES):
        return Memory.SHARED
    if name == "//anon" or not name.startswith("/"):
        return Memory.SHARED if event.protection.endswith("s") else Memory.ANONYMOUS
    return Memory.FILE_TEXT if "x" in event.protection else Memory.FILE_DATA


class ProcessMappings(Struct):
    """The mappings of one process, without overlaps."""

    _starts: list[int] = field(default_factory=list)
    _mappings: list[MemoryMapping] = field(default_factory=list)
    _added_mapping: MemoryMapping | None = None
    """The mapping that was added last."""

    def add(self, mapping: MemoryMapping) -> None:
        """Add a mapping, which replaces the parts of other mappings that it overlaps."""
        guards_stack = self._becomes_guard(mapping)
        self.remove(mapping.start, mapping.end)
        index = bisect_right(self._starts, mapping.start)
        self._mappings.insert(index, mapping)
        self._starts.insert(index, mapping.start)
        self._added_mapping = mapping
        if guards_stack:
            self._mark_stack(mapping.end)

    def remove(self, start: int, end: int) -> None:
        """Remove the mappings, and parts of mappings, in a range."""
        first_index, end_index = self._find_overlapping(start, end)
        mappings = [
            part
            for old_mapping in self._mappings[first_index:end_index]
            for part in _cut_parts_outside(old_mapping, start, end)
        ]
        self._mappings[first_index:end_index] = mappings
        self._starts[first_index:end_index] = [mapping.start for mapping in mappings]

    def list_gaps(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of a range that no mapping covers, each with its start and end."""
        first_index, end_index = self._find_overlapping(start, end)
        gaps = []
        for mapping in self._mappings[first_index:end_index]:
            if mapping.start > start:
                gaps.append((start, mapping.start))
            start = max(start, mapping.end)
        return [*gaps, (start, end)] if start < end else gaps

    def identify_use(self, mapping: MemoryMapping) -> MemoryMapping:
        """Return a mapping that is about to be added, marked if it is static data, or the stack or arena of a thread.

        Static data begins where the data of its file ends, and is mapped next. A stack has a guard directly below,
        and is mapped together with it. An arena is the accessible beginning of a range that malloc has reserved, at a
        multiple of its largest size.
        """
        if mapping.memory is not Memory.ANONYMOUS or mapping.reserved:
            return mapping
        if self._is_static_data(mapping):
            return mapping.with_memory(Memory.STATIC)
        replaced_mapping, mapping_below = self.find(mapping.start), self.find(mapping.start - 1)
        if mapping.start % _ARENA_BYTES == 0:
            is_larger_arena = replaced_mapping is not None and replaced_mapping.memory is Memory.ARENA
            is_new_arena = (
                replaced_mapping is not None
                and replaced_mapping.reserved
                and mapping.end - mapping.start < _MAX_NEW_ARENA_BYTES
            )
            return mapping.with_memory(Memory.ARENA) if is_larger_arena or is_new_arena else mapping
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
        """Return the mapping that contains an address; None if it is not mapped."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._mappings[index].end:
            return self._mappings[index]
        return None

    def grow_stack(self, address: int) -> MemoryMapping | None:
        """Return the main thread's stack if it has grown to an address that was not mapped; None if it has not.

        The kernel reports the stack at the start of the program, and not when it grows.
        """
        index = bisect_right(self._starts, address)
        if index == len(self._mappings):
            return None
        stack = self._mappings[index]
        if stack.name != _MAIN_STACK or stack.start - address > _MAX_STACK_BYTES:
            return None
        self._starts[index] = address
        self._mappings[index] = replace(stack, start=address)
        return self._mappings[index]

    def copy(self) -> "ProcessMappings":
        """Return a copy of the mappings, with which a child process starts."""
        return ProcessMappings(list(self._starts), list(self._mappings))

    def _is_static_data(self, mapping: MemoryMapping) -> bool:
        """Return whether anonymous memory continues the data of a program or library, which has code too."""
        data = self._added_mapping
        return (
            data is not None
            and data.memory is Memory.FILE_DATA
            and data.end == mapping.start
            and any(other.memory is Memory.FILE_TEXT and other.name == data.name for other in self._mappings)
        )

    def _becomes_guard(self, mapping: MemoryMapping) -> bool:
        """Return whether a mapping makes a part of anonymous memory inaccessible, as the JVM guards threads' stacks."""
        replaced_mapping = self.find(mapping.start)
        is_small = mapping.reserved and mapping.end - mapping.start <= MAX_GUARD_BYTES
        return (
            is_small
            and replaced_mapping is not None
            and replaced_mapping.memory is Memory.ANONYMOUS
            and not replaced_mapping.reserved
        )

    def _mark_stack(self, start: int) -> None:
        """Mark the memory that begins at ``start``, directly above a guard, as the stack of a thread."""
        index = bisect_right(self._starts, start) - 1
        mapping_above = self._mappings[index]
        if mapping_above.start == start and mapping_above.memory is Memory.ANONYMOUS and not mapping_above.reserved:
            self._mappings[index] = mapping_above.with_memory(Memory.STACK)

    def _find_overlapping(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and the end index of the mappings that may overlap an address range."""
        first_index = max(0, bisect_right(self._starts, start) - 1)
        end_index = first_index
        while end_index < len(self._mappings) and self._starts[end_index] < end:
            end_index += 1
        return first_index, end_index


def _cut_parts_outside(mapping: MemoryMapping, start: int, end: int) -> list[MemoryMapping]:
    """Return the parts of a mapping that lie outside of a range."""
    parts = []
    if mapping.start < start:
        parts.append(replace(mapping, end=min(mapping.end, start)))
    if mapping.end > end:
        begin = max(mapping.start, end)
        parts.append(replace(mapping, start=begin, offset=mapping.offset + begin - mapping.start))
    return parts
