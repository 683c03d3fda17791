"""Which mapping of a process held an address at a time."""

from bisect import bisect_right
from dataclasses import dataclass, field, replace

from runner.contract.profile import Memory
from runner.profile.script_parser import Mapped

_SHARED = ("/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage")  # noqa: S108 - names that the kernel gives
_KERNEL = {"[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[uprobes]"}


@dataclass(frozen=True, slots=True)
class MemoryMapping:
    """A stretch of memory."""

    start: int
    end: int
    offset: int
    memory: Memory
    kind: str
    """The same as plain text: an enumeration's members hash slowly, and each fault looks it up."""
    name: str

    @classmethod
    def of(cls, event: Mapped) -> "MemoryMapping":
        """Return what was mapped."""
        memory = memory_of(event)
        return cls(event.start, event.start + event.size, event.offset, memory, memory.value, event.name)

    @property
    def file(self) -> str:
        """The file behind it, empty where there is none."""
        return self.name if self.memory in {Memory.FILE_TEXT, Memory.FILE_DATA} else ""


def memory_of(event: Mapped) -> Memory:
    """Tell what kind of memory was mapped, by the name and the protection that the kernel gives it."""
    name = event.name
    if name.startswith("[stack"):
        return Memory.STACK
    if name == "[heap]":
        return Memory.HEAP
    if name in _KERNEL:
        return Memory.OTHER
    if name.startswith(_SHARED):
        return Memory.SHARED
    if name == "//anon" or not name.startswith("/"):
        return Memory.SHARED if event.protection.endswith("s") else Memory.ANONYMOUS
    return Memory.FILE_TEXT if "x" in event.protection else Memory.FILE_DATA


@dataclass(slots=True)
class ProcessMappings:
    """The mappings of one process, none over another."""

    _starts: list[int] = field(default_factory=list)
    _all: list[MemoryMapping] = field(default_factory=list)

    def add(self, new: MemoryMapping) -> None:
        """Put a mapping where others may have been."""
        first, last = self._over(new.start, new.end)
        kept = [part for old in self._all[first:last] for part in _outside(old, new.start, new.end)]
        kept = sorted([*kept, new], key=lambda one: one.start)
        self._all[first:last] = kept
        self._starts[first:last] = [one.start for one in kept]

    def find(self, address: int) -> MemoryMapping | None:
        """Return the mapping that holds an address."""
        place = bisect_right(self._starts, address) - 1
        if place >= 0 and address < self._all[place].end:
            return self._all[place]
        return None

    def copy(self) -> "ProcessMappings":
        """Return the mappings that a child starts with."""
        return ProcessMappings(list(self._starts), list(self._all))

    def _over(self, start: int, end: int) -> tuple[int, int]:
        first = max(0, bisect_right(self._starts, start) - 1)
        last = first
        while last < len(self._all) and self._starts[last] < end:
            last += 1
        return first, last


def _outside(old: MemoryMapping, start: int, end: int) -> list[MemoryMapping]:
    """Return what is left of a mapping beside a stretch."""
    parts = []
    if old.start < start:
        parts.append(replace(old, end=min(old.end, start)))
    if old.end > end:
        begin = max(old.start, end)
        parts.append(replace(old, start=begin, offset=old.offset + begin - old.start))
    return parts
