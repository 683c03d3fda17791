"""Tracks the pages of a process that faulted, and how it gave pages back."""

from collections.abc import Collection

from msgspec import Struct, field

from runner.contract.profile import Memory, Touch
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings

_MAP_FIXED = 0x10
_RETURNING_ADVICE = {4, 8, 9, 21}
"""Advice of madvise: DONTNEED, FREE, REMOVE, PAGEOUT."""
# Strings: each fault looks them up, and members of an enumeration hash slowly.
_FIRST_TOUCH, _REPEATED_TOUCH, _AFTER_FORK = Touch.FIRST.value, Touch.AGAIN.value, Touch.AFTER_FORK.value
_AFTER_READ = Touch.AFTER_READ.value

_HOLDING_DATA = frozenset({_REPEATED_TOUCH, _AFTER_FORK})
"""What a page was that has data in it, which a read maps again: not the page of zeros."""


class PageStates(Struct):
    """The pages of one process that have faulted, each with its state since.

    Attributes
    ----------
    page_size
        Bytes of a page of the kernel that ran the process: 4 KiB on x86, up to 64 KiB elsewhere.
    """

    page_size: int
    _state: dict[int, str] = field(default_factory=dict)
    _brk: int = 0
    _shared: set[int] = field(default_factory=set)
    """Pages that were present at a fork, and have not faulted since: another process may have them too."""

    def record_fault(self, page: int, *, only_read: bool = False) -> str:
        """Record a fault, perhaps of a read of private memory; return the page's previous state: a :class:`Touch`."""
        before = self._state.get(page, _FIRST_TOUCH)
        if page in self._shared:
            self._shared.discard(page)
            before = _AFTER_FORK
        self._state[page] = _AFTER_READ if only_read and before not in _HOLDING_DATA else _REPEATED_TOUCH
        return before

    def fork(self) -> "PageStates":
        """Record a fork; return the pages of the child, which shares all that are present."""
        self._shared.update(page for page, state in self._state.items() if state == _REPEATED_TOUCH)
        return PageStates(self.page_size, _brk=self._brk, _shared=set(self._shared))

    def __len__(self) -> int:
        return len(self._state)

    def __bool__(self) -> bool:
        return True

    def count_pages(self, start: int, end: int) -> int:
        """Return how many pages of a range have faulted."""
        return sum(start <= page * self.page_size < end for page in self._state)

    def record_call(self, name: str, arguments: dict[str, int]) -> int | None:
        """Record a system call; return the number of bytes it concerns."""
        match name:
            case "munmap":
                self._mark_returned(arguments["addr"], arguments["len"], Touch.AFTER_MUNMAP)
                return arguments["len"]
            case "mmap":
                if arguments["flags"] & _MAP_FIXED:
                    self._mark_returned(arguments["addr"], arguments["len"], Touch.AFTER_MUNMAP)
                return arguments["len"]
            case "madvise":
                if arguments["behavior"] in _RETURNING_ADVICE:
                    self._mark_returned(arguments["start"], arguments["len_in"], Touch.AFTER_MADVISE)
                return arguments["len_in"]
            case "mremap":
                shorter = arguments["old_len"] - arguments["new_len"]
                if shorter > 0:
                    self._mark_returned(arguments["addr"] + arguments["new_len"], shorter, Touch.AFTER_MUNMAP)
                return arguments["new_len"]
            case "brk":
                return self._move_heap_end(arguments["brk"])
        return None

    def move_pages(self, start: int, size: int, to: int) -> None:
        """Record that the kernel moved the pages of a range to another address, with what is in them."""
        first, last = start // self.page_size, -(-(start + size) // self.page_size)
        distance = to // self.page_size - first
        if not distance:
            return
        shared = _select_pages(self._shared, first, last)
        states = {page + distance: self._state.pop(page) for page in _select_pages(self._state, first, last)}
        self._shared.difference_update(shared)
        self._shared.update(page + distance for page in shared)
        self._state.update(states)

    def _move_heap_end(self, end: int) -> int:
        """Move the end of the heap; return by how many bytes it moved."""
        before, self._brk = self._brk, end or self._brk
        if not end:
            return 0  # The call only queries the end.
        if before and end < before:
            self._mark_returned(end, before - end, Touch.AFTER_BRK)
        return abs(end - before) if before else 0

    def _mark_returned(self, start: int, size: int, touch: Touch) -> None:
        """Mark the pages of a range that had faulted as given back to the kernel."""
        first, last = -(-start // self.page_size), -(-(start + size) // self.page_size)
        for page in _select_pages(self._shared, first, last):
            self._shared.discard(page)
            self._state[page] = touch.value
        for page in _select_pages(self._state, first, last):
            self._state[page] = touch.value


class JoinedPageStates(PageStates):
    """The pages of a process that is older than its recording.

    Its pages may have been touched before. So a range that it gives back may have held pages, although none was seen:
    a fault there counts as one on returned memory.
    """

    _returned: ProcessMappings = field(default_factory=ProcessMappings)

    def record_fault(self, page: int, *, only_read: bool = False) -> str:
        """Record a fault; return the previous state of the page, as far as it can be known."""
        is_new = page not in self._state
        before = PageStates.record_fault(self, page, only_read=only_read)
        returned = self._returned.find(page * self.page_size) if is_new else None
        return returned.kind if returned else before

    def _mark_returned(self, start: int, size: int, how: Touch) -> None:
        PageStates._mark_returned(self, start, size, how)
        if size > 0:
            self._returned.add(MemoryMapping(start, start + size, 0, Memory.OTHER, how.value, ""))


def _select_pages(pages: Collection[int], first: int, last: int) -> list[int]:
    """Return those of some pages that are in a range, by going through whichever has fewer."""
    if last - first > len(pages):
        return [page for page in pages if first <= page < last]
    return [page for page in range(first, last) if page in pages]
