"""Finds, by the stacks of system calls, which calls requested the memory that a program touches, or gave it back."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from runner.contract.profile import Memory, Touch
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings
from runner.profile.page_states import LateAttachPageStates, PageStates
from runner.profile.recorded_system_calls import ENTRY_PREFIX, FILE_CALLS, MREMAP_EXIT
from runner.profile.script_parser import (
    Event,
    Executed,
    Forked,
    Mapped,
    ScriptError,
    ScriptFrame,
    Stacked,
    parse_arguments,
)
from runner.profile.stack_folding import KERNEL, KERNEL_START, WeightedStacks, is_user_frame

_PROT_WRITE, _MAP_FIXED = 2, 0x10
_REQUESTING_CALLS = frozenset({"mmap", "brk"})
_REQUESTED_MEMORY = frozenset({Memory.ANONYMOUS, Memory.HEAP, Memory.ARENA})


class MemoryCalls(Struct):
    """Follows the memory of all processes of a recording, and counts the faults by the call that led to them.

    Attributes
    ----------
    page_size
        The page size in bytes of the kernel that made the recording.
    has_every_fault
        Whether every fault was recorded. If not, every page of a range that is given back counts as touched before.
    returned
        By the stack of the call, innermost frame first: the recorded faults on pages that it gave back.
    requested
        The same of first touches of memory that the call requested, without files and shared memory.
    """

    page_size: int
    has_every_fault: bool
    returned: WeightedStacks = field(default_factory=WeightedStacks)
    requested: WeightedStacks = field(default_factory=WeightedStacks)
    _pages: dict[int, PageStates] = field(default_factory=dict)
    _stacks: dict[str, tuple[ScriptFrame, ...]] = field(default_factory=dict)
    """The stack of each call, by its mark on the pages that the call gave back."""
    _marks: dict[tuple[ScriptFrame, ...], str] = field(default_factory=dict)
    _requests: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    """By process: the mark of its last call that requests memory, and the range that it named; of size 0 if none."""
    _requested_ranges: dict[int, ProcessMappings] = field(default_factory=dict)
    """By process: the requested memory; the name of each range is the mark of the call."""
    _shared_ranges: dict[int, ProcessMappings] = field(default_factory=dict)
    """By process: the memory that is mapped shared."""
    _file_call: tuple[int, str] = 0, ""
    """The number of calls of :data:`.FILE_CALLS` so far, and the mark of the last one."""
    _fault_times: dict[tuple[int, int], int] = field(default_factory=dict)
    """By process and page of shared memory: how many of these calls preceded the last fault."""
    _open_mremaps: dict[int, tuple[dict[str, int], str]] = field(default_factory=dict)
    """By thread: the arguments and the mark of an mremap that has not returned yet."""

    def follow(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events of a recording in chronological order, without the system calls, and count on the way."""
        for event in events:
            match event:
                case Stacked(address=int(address)):
                    self._add_fault(event.pid, address)
                case Stacked():
                    self._add_call(event)
                    continue
                case Mapped():
                    self._add_mapping(event)
                case Forked() if event.pid != event.parent:  # a process, not a thread
                    self._pages[event.pid] = self._get_pages(event.parent).fork()
                    for ranges in (self._shared_ranges, self._requested_ranges):
                        if event.parent in ranges:
                            ranges[event.pid] = ranges[event.parent].copy()
                case Executed():
                    for table in (self._pages, self._shared_ranges, self._requested_ranges, self._requests):
                        table.pop(event.pid, None)
            yield event

    def _add_mapping(self, event: Mapped) -> None:
        """Record a mapping that a call has created, or made larger: the kernel then reports the whole of it."""
        mapping = MemoryMapping.from_event(event)
        shared_ranges = self._shared_ranges.setdefault(event.pid, ProcessMappings())
        shared_ranges.remove(mapping.start, mapping.end)
        if event.protection.endswith("s"):
            shared_ranges.add(mapping)
        mark, start, end = self._requests.pop(event.pid, ("", 0, 0))
        ranges = self._requested_ranges.setdefault(event.pid, ProcessMappings())
        ranges.remove(start, end)
        if not mark or mapping.memory not in _REQUESTED_MEMORY:
            return
        for gap_start, gap_end in ranges.list_gaps(mapping.start, mapping.end):
            ranges.add(MemoryMapping(gap_start, gap_end, 0, mapping.memory, mapping.kind, mark))

    def _add_fault(self, pid: int, address: int) -> None:
        """Count a fault for the call that gave its page back or, at the first touch, requested its memory."""
        page = address // self.page_size
        mark = self._get_pages(pid).record_fault(page)
        ranges = self._shared_ranges.get(pid)
        if ranges is not None and ranges.find(address):
            n_file_calls, file_mark = self._file_call
            if mark == Touch.AGAIN.value and n_file_calls > self._fault_times.get((pid, page), n_file_calls):
                mark = file_mark
            self._fault_times[pid, page] = n_file_calls
        counts = self.returned
        if mark == Touch.FIRST.value and pid in self._requested_ranges:
            requested_range = self._requested_ranges[pid].find(address)
            mark, counts = requested_range.name if requested_range else "", self.requested
        stack = self._stacks.get(mark)
        if stack is not None:
            counts.stacks[stack] += 1
            counts.samples += 1

    def _add_call(self, event: Stacked) -> None:
        """Follow a system call, or the return of an mremap."""
        try:
            if event.event == MREMAP_EXIT:
                self._end_mremap(event)
            else:
                self._begin_call(event, event.event.removeprefix(ENTRY_PREFIX), parse_arguments(event.text))
        except (ScriptError, ValueError, KeyError):
            return  # The recording of the faults reports calls that cannot be read.

    def _begin_call(self, event: Stacked, name: str, arguments: dict[str, int]) -> None:
        """Mark the pages that a call gives back or protects, and remember what it requests."""
        mark = self._find_mark(name, event.frames)
        if name in FILE_CALLS:
            # Their arguments do not say which pages. The next fault of a shared page is attributed to the last one.
            self._file_call = self._file_call[0] + 1, mark
        elif name == "mprotect":
            if not arguments["prot"] & _PROT_WRITE:
                self._get_pages(event.pid).protect(arguments["start"], arguments["len"], mark)
        else:
            self._record_request(event, name, arguments, mark)
            self._get_pages(event.pid).record_call(name, arguments, mark)

    def _record_request(self, event: Stacked, name: str, arguments: dict[str, int], mark: str) -> None:
        """Remember the memory that a call requests, or forget the memory that munmap gives back."""
        if name == "mremap":
            self._open_mremaps[event.tid] = arguments, mark
        if name == "munmap" and event.pid in self._requested_ranges:
            self._requested_ranges[event.pid].remove(arguments["addr"], arguments["addr"] + arguments["len"])
        if name in _REQUESTING_CALLS:
            is_fixed = name == "mmap" and arguments["flags"] & _MAP_FIXED
            start, size = (arguments["addr"], arguments["len"]) if is_fixed else (0, 0)
            self._requests[event.pid] = mark, start, start + size

    def _end_mremap(self, event: Stacked) -> None:
        """Move the pages and the requested range of an mremap to the address that it returns."""
        arguments, mark = self._open_mremaps.pop(event.tid, ({}, ""))
        new_start = int(event.text, 16)
        if arguments and 0 < new_start < KERNEL_START:  # otherwise the call failed
            size = min(arguments["old_len"], arguments["new_len"])
            self._get_pages(event.pid).move_pages(arguments["addr"], size, new_start)
            self._move_request(event.pid, arguments, new_start, mark)

    def _move_request(self, pid: int, arguments: dict[str, int], new_start: int, mark: str) -> None:
        """Record that mremap has moved memory, or made it larger: it has requested all of it now."""
        ranges = self._requested_ranges.get(pid)
        old_range = ranges.find(arguments["addr"]) if ranges else None
        if ranges is None or old_range is None:
            return
        ranges.remove(arguments["addr"], arguments["addr"] + arguments["old_len"])
        ranges.add(old_range.move(old_range.start, new_start, arguments["new_len"]).rename(mark))

    def _find_mark(self, name: str, frames: tuple[ScriptFrame, ...]) -> str:
        """Return the mark of a call's pages, the same for all calls with the same stack; make one for a new stack."""
        stack = (ScriptFrame(KERNEL_START, name, KERNEL), *(frame for frame in frames if is_user_frame(frame)))
        if stack not in self._marks:
            self._marks[stack] = f"#{len(self._marks)}"
            self._stacks[self._marks[stack]] = stack
        return self._marks[stack]

    def _get_pages(self, pid: int) -> PageStates:
        if pid not in self._pages:
            states = PageStates if self.has_every_fault else LateAttachPageStates
            self._pages[pid] = states(self.page_size)
        return self._pages[pid]
