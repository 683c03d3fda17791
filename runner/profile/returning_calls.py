"""Finds the system calls that gave back the pages which a program touches again, with the stacks of these calls."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from runner.contract.profile import Touch
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings
from runner.profile.page_states import LateAttachPageStates, PageStates
from runner.profile.recording_plan import FILE_CALLS
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

_ENTRY_PREFIX, _MREMAP_EXIT = "syscalls:sys_enter_", "syscalls:sys_exit_mremap"


class ReturningCalls(Struct):
    """Follows the pages of all processes of a recording, and counts by stack the calls whose pages fault again.

    Attributes
    ----------
    page_size
        The page size in bytes of the kernel that made the recording.
    has_every_fault
        Whether every fault was recorded. If not, every page of a range that is given back counts as touched before.
    weighted_stacks
        By the stack of the call, innermost frame first: the recorded faults on pages that it gave back.
    """

    page_size: int
    has_every_fault: bool
    weighted_stacks: WeightedStacks = field(default_factory=WeightedStacks)
    _pages: dict[int, PageStates] = field(default_factory=dict)
    _stacks: dict[str, tuple[ScriptFrame, ...]] = field(default_factory=dict)
    """The stack of each call, by its mark on the pages that the call gave back."""
    _marks: dict[tuple[ScriptFrame, ...], str] = field(default_factory=dict)
    _shared_ranges: dict[int, ProcessMappings] = field(default_factory=dict)
    """By process: the memory that is mapped shared."""
    _file_call: tuple[int, str] = 0, ""
    """The number of calls of :data:`.FILE_CALLS` so far, and the mark of the last one."""
    _fault_times: dict[tuple[int, int], int] = field(default_factory=dict)
    """By process and page of shared memory: how many of these calls preceded the last fault."""
    _open_mremaps: dict[int, dict[str, int]] = field(default_factory=dict)
    """By thread: the arguments of an mremap that has not returned yet."""

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
                    mapping = MemoryMapping.from_event(event)
                    ranges = self._shared_ranges.setdefault(event.pid, ProcessMappings())
                    ranges.remove(mapping.start, mapping.end)
                    if event.protection.endswith("s"):
                        ranges.add(mapping)
                case Forked() if event.pid != event.parent:  # a process, not a thread
                    self._pages[event.pid] = self._get_pages(event.parent).fork()
                    if event.parent in self._shared_ranges:
                        self._shared_ranges[event.pid] = self._shared_ranges[event.parent].copy()
                case Executed():
                    self._pages.pop(event.pid, None)
                    self._shared_ranges.pop(event.pid, None)
            yield event

    def _add_fault(self, pid: int, address: int) -> None:
        """Count a fault if a call gave its page back."""
        page = address // self.page_size
        mark = self._get_pages(pid).record_fault(page)
        ranges = self._shared_ranges.get(pid)
        if ranges is not None and ranges.find(address):
            n_file_calls, file_mark = self._file_call
            if mark == Touch.AGAIN.value and n_file_calls > self._fault_times.get((pid, page), n_file_calls):
                mark = file_mark
            self._fault_times[pid, page] = n_file_calls
        stack = self._stacks.get(mark)
        if stack is not None:
            self.weighted_stacks.stacks[stack] += 1
            self.weighted_stacks.samples += 1

    def _add_call(self, event: Stacked) -> None:
        """Mark the pages that a call gives back, or move those that mremap has moved."""
        pages = self._get_pages(event.pid)
        try:
            if event.event == _MREMAP_EXIT:
                arguments = self._open_mremaps.pop(event.tid, None)
                new_start = int(event.text, 16)
                if arguments is not None and 0 < new_start < KERNEL_START:  # otherwise the call failed
                    pages.move_pages(arguments["addr"], min(arguments["old_len"], arguments["new_len"]), new_start)
                return
            name = event.event.removeprefix(_ENTRY_PREFIX)
            arguments = parse_arguments(event.text)
            mark = self._find_mark(name, event.frames)
            if name in FILE_CALLS:
                # Their arguments do not say which pages. The next fault of a shared page is attributed to the last one.
                self._file_call = self._file_call[0] + 1, mark
                return
            if name == "mremap":
                self._open_mremaps[event.tid] = arguments
            pages.record_call(name, arguments, mark)
        except (ScriptError, ValueError, KeyError):
            return  # The recording of the faults reports calls that cannot be read.

    def _find_mark(self, name: str, frames: tuple[ScriptFrame, ...]) -> str:
        """Return the mark of a call's pages, which is the same for all calls with the same stack."""
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
