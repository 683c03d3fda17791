"""Tracks which pages of a process have faulted, and how pages were given back to the kernel."""

from collections.abc import Collection

from msgspec import Struct, field

from runner.contract.profile import Memory, Touch
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings

_MAP_FIXED = 0x10
_RETURNING_ADVICE = {4, 8, 9, 21, 24, 102}
"""Advice of madvise: DONTNEED, FREE, REMOVE, PAGEOUT, DONTNEED_LOCKED, GUARD_INSTALL."""
# Use strings, because these are looked up at each fault, and members of an enumeration hash slowly.
_FIRST_TOUCH, _REPEATED_TOUCH, _AFTER_FORK = Touch.FIRST.value, Touch.AGAIN.value, Touch.AFTER_FORK.value
_AFTER_READ = Touch.AFTER_READ.value

_AFTER_RETURN = frozenset({Touch.AFTER_MUNMAP.value, Touch.AFTER_MADVISE.value, Touch.AFTER_BRK.value})
_STATES_WITH_DATA = frozenset({_REPEATED_TOUCH, _AFTER_FORK})
"""The states of a page that still has data: a read maps this data, not the page of zeros."""


class PageStates(Struct):
    """The pages of one process that have faulted, each with the kind of touch that its next fault would be.

    Attributes
    ----------
    page_size
        The page size in bytes of the kernel that ran the process: 4 KiB on x86, up to 64 KiB elsewhere.
    """

    page_size: int
    _states: dict[int, str] = field(default_factory=dict)
    _heap_end: int = 0
    _shared_pages: set[int] = field(default_factory=set)
    """Pages that were present at a fork and have not faulted since: they may be shared with another process."""

    def record_fault(self, page: int, *, only_read: bool = False) -> str:
        """Record a fault of a page; return the kind of this touch, a value of :class:`Touch`.

        With ``only_read``, the fault is known to be a read of private memory.
        """
        previous_state = self._states.get(page, _FIRST_TOUCH)
        if page in self._shared_pages:
            self._shared_pages.discard(page)
            previous_state = _AFTER_FORK
        # A read of private memory without data maps the page of zeros, so the first write will fault once more.
        self._states[page] = _AFTER_READ if only_read and previous_state not in _STATES_WITH_DATA else _REPEATED_TOUCH
        return previous_state

    def expect_return(self, page: int, touch: str) -> None:
        """Let a page whose latest touch followed its return count as given back again, when no more calls are known.

        The program probably continues as before, and the page can hardly fault again without being given back.
        """
        if touch in _AFTER_RETURN:
            self._states[page] = touch

    def fork(self) -> "PageStates":
        """Record a fork; return the page states of the child, which shares all pages that are present."""
        # A page is present if its next fault would be a repeated touch; others were given back, or only read.
        self._shared_pages.update(page for page, state in self._states.items() if state == _REPEATED_TOUCH)
        return PageStates(self.page_size, _heap_end=self._heap_end, _shared_pages=set(self._shared_pages))

    def end(self) -> None:
        """Forget what concerns only further faults: the process ended, or executes another program."""
        self._shared_pages.clear()

    def __len__(self) -> int:
        return len(self._states)

    def __bool__(self) -> bool:
        return True  # Without this, a process without any pages yet would count as none, because its length is 0.

    def count_pages(self, start: int, end: int) -> int:
        """Return how many pages of a range have faulted."""
        return sum(start <= page * self.page_size < end for page in self._states)

    def record_call(self, name: str, arguments: dict[str, int], mark: str = "") -> int | None:
        """Record a system call; return the number of bytes that it concerns, or None if it does not affect pages.

        Parameters
        ----------
        mark
            What :meth:`record_fault` is to return for the next touch of the pages that the call gives back, instead of
            the kind of this touch.
        """
        match name:
            case "munmap":
                self._mark_returned_pages(arguments["addr"], arguments["len"], mark or Touch.AFTER_MUNMAP.value)
                return arguments["len"]
            case "mmap":
                if arguments["flags"] & _MAP_FIXED:
                    self._mark_returned_pages(arguments["addr"], arguments["len"], mark or Touch.AFTER_MUNMAP.value)
                return arguments["len"]
            case "madvise":
                if arguments["behavior"] in _RETURNING_ADVICE:
                    self._mark_returned_pages(
                        arguments["start"], arguments["len_in"], mark or Touch.AFTER_MADVISE.value
                    )
                return arguments["len_in"]
            case "mremap":
                cut_bytes = arguments["old_len"] - arguments["new_len"]
                if cut_bytes > 0:
                    start = arguments["addr"] + arguments["new_len"]
                    self._mark_returned_pages(start, cut_bytes, mark or Touch.AFTER_MUNMAP.value)
                return arguments["new_len"]
            case "brk":
                return self._move_heap_end(arguments["brk"], mark or Touch.AFTER_BRK.value)
        return None

    def protect(self, start: int, size: int, mark: str) -> None:
        """Mark the pages of a range that are present, whose next fault is then due to their protection.

        Parameters
        ----------
        mark
            What :meth:`record_fault` is to return for the next touch of these pages.
        """
        first_page, end_page = start // self.page_size, -(-(start + size) // self.page_size)
        for page in _select_pages(self._states, first_page, end_page):
            if self._states[page] == _REPEATED_TOUCH:
                self._states[page] = mark

    def move_pages(self, start: int, size: int, new_start: int) -> None:
        """Record that the kernel moved the pages of a range, with their content, to another address."""
        first_page = start // self.page_size
        end_page = -(-(start + size) // self.page_size)  # rounded up
        distance = new_start // self.page_size - first_page
        if not distance:
            return  # The range grew or shrank without being moved.
        shared_pages = _select_pages(self._shared_pages, first_page, end_page)
        states = {page + distance: self._states.pop(page) for page in _select_pages(self._states, first_page, end_page)}
        self._shared_pages.difference_update(shared_pages)
        self._shared_pages.update(page + distance for page in shared_pages)
        self._states.update(states)

    def _move_heap_end(self, end: int, mark: str) -> int:
        """Move the end of the heap; return by how many bytes it moved."""
        if not end:
            return 0  # The call only queries the end of the heap.
        previous_end = self._heap_end
        self._heap_end = end
        if not previous_end:
            return 0  # The previous end is unknown.
        if end < previous_end:
            self._mark_returned_pages(end, previous_end - end, mark)
        return abs(end - previous_end)

    def _mark_returned_pages(self, start: int, size: int, mark: str) -> None:
        """Mark the pages of a range that have faulted as given back to the kernel."""
        # Like the kernel, round both ends up: a page that is still used in part is not given back.
        first_page, end_page = -(-start // self.page_size), -(-(start + size) // self.page_size)
        for page in _select_pages(self._shared_pages, first_page, end_page):
            self._shared_pages.discard(page)
            self._states[page] = mark
        for page in _select_pages(self._states, first_page, end_page):
            self._states[page] = mark


class LateAttachPageStates(PageStates):
    """The pages of a process that was running before its recording began.

    Its pages may have been touched before. When it gives back a range, all pages of the range may have been present,
    even if no fault was recorded: the next fault of each counts as a touch of returned memory.
    """

    _returned_ranges: ProcessMappings = field(default_factory=ProcessMappings)

    def record_fault(self, page: int, *, only_read: bool = False) -> str:
        """Record a fault of a page; return the most likely kind of this touch."""
        is_new = page not in self._states
        previous_state = PageStates.record_fault(self, page, only_read=only_read)
        returned_range = self._returned_ranges.find(page * self.page_size) if is_new else None
        return returned_range.kind if returned_range else previous_state

    def _mark_returned_pages(self, start: int, size: int, mark: str) -> None:
        PageStates._mark_returned_pages(self, start, size, mark)
        if size > 0:
            # These mappings serve only as ranges: their kind is the mark, and nothing else of them is used.
            self._returned_ranges.add(MemoryMapping(start, start + size, 0, Memory.OTHER, mark, ""))


def _select_pages(pages: Collection[int], first_page: int, end_page: int) -> list[int]:
    """Return those of ``pages`` that are in a range; iterate over the pages or over the range, whichever is shorter."""
    if end_page - first_page > len(pages):
        return [page for page in pages if first_page <= page < end_page]
    return [page for page in range(first_page, end_page) if page in pages]
