"""Extracts from a profile the facts that the rules read, each from its most reliable source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from runner.contract.function_names import shorten_name
from runner.contract.number_text import choose_unit, format_count, format_number, format_quantity, format_share
from runner.contract.own_frame import find_own_frame, find_own_line
from runner.contract.profile import (
    UNKNOWN_FUNCTION,
    Anatomy,
    Area,
    FaultKind,
    Frame,
    Memory,
    Profile,
    Site,
    Stack,
    StackProfile,
    Touch,
)
from runner.contract.word_list import join_words
from service.rules.diagnose.process_contents import is_allocator_frame

_FAULT_FUNCTION = re.compile(
    r"(?:asm_)?exc_page_fault|_*do_page_fault|do_user_addr_fault|handle_mm_fault|do_mem_abort|do_dat_exception"
)
_MAPPING_FUNCTION = re.compile(
    r"(?:__[a-z0-9]+_(?:compat_)?sys_(?:x86_)?|k?sys_|vm_(?=mmap_pgoff))"
    r"(munmap|madvise|brk|mremap|mprotect|mmap)(?:_pgoff)?"
)
_POPULATING_FUNCTION = re.compile(r"__mm_populate|populate_vma_page_range|faultin_(?:vma_)?page_range")
"""The functions of the kernel that provide the pages of a mapping at once."""
_LOCK_FUNCTION = re.compile(
    r"rwsem_down_(?:read|write)_(?:slowpath|failed).*|__?mmap_lock.*|mmap_(?:read|write)_lock.*"
)
_MEMORY_CALLS = re.compile(
    r".*(?:munmap|mmap|madvise|brk|mremap|mprotect).*|" + _FAULT_FUNCTION.pattern + r"|lock_mm_and_find_vma|vma_.*"
)
_MALLOC_FUNCTION = re.compile(
    r"(?:__GI_)?_*(?:libc_|int_|mid_)?"
    r"(?:malloc|calloc|realloc|reallocarray|c?free|memalign|posix_memalign|aligned_alloc|valloc|malloc_trim|"
    r"malloc_consolidate|sysmalloc|systrim|mtrim|heap_trim|(?:munmap|mremap)_chunk)(?:[.@].*)?|"
    r"operator (?:new|delete).*|_Zn[wa].*|_Zd[la].*"
)
_STORAGE_FUNCTION = re.compile(r"io_schedule(?:_timeout)?|folio_wait_bit.*|wait_on_page_bit.*|__(?:folio|page)_lock.*")
_LIBRARY = re.compile(r"\.so(?:\.[\w.]+)?(?: \(deleted\))?$")
_Place = TypeVar("_Place", bound=Hashable)
_EMPTY = Anatomy(counted=0, recorded=0, pages=0, by_memory={}, by_touch={}, by_access={})
OWN_MEMORY = frozenset({Memory.HEAP, Memory.ARENA, Memory.ANONYMOUS, Memory.STATIC, Memory.SHARED})
"""Memory that the program itself requested, or declared."""
_MIN_STACKS = 30
"""Shares of recorded stacks count as a measurement if there are at least this many stacks."""
_MIN_CALLING_SAMPLES, _MAX_SHARE_OF_MALLOC = 10, 0.1
"""It is known who maps memory if at least this many stacks were recorded in calls that map or unmap. It is the program
itself if malloc has at most this share of them."""
_MAX_SAME_CALLS_FACTOR = 1.05
"""Memory is given back more often if the system calls that do it are more than this many times as many as before."""
HUGE_PAGE_POLICIES = ("never", "madvise", "always")
"""The policies for huge pages, in ascending order of the number of huge pages that they give."""
_ENTRY_BYTES = 8
"""The size of an entry of a page table."""
_USUAL_PAGE_BYTES = 4096
"""The page size if the environment does not state it."""
_MAX_NAMED_FILES = 3
"""A sentence names at most this many files, and counts the others."""
_MAX_NUMBER_DIGITS = 12
"""A page size, or a number of processors, with more digits is invalid, and is ignored."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one profile.

    Attributes
    ----------
    before
        The facts of the state before a change, if there is one.
    faults
        Faults of the first process, within the scope of the profile.
    timed
        Whether enough CPU time was recorded to know the costs; if not, the costs are zero.
    fault_cost_share
        Share of the CPU time spent in faults.
    call_costs
        Share of the CPU time spent in each system call that takes memory or gives it back, without faults in the call.
    lock_wait, n_lock_waits
        How many seconds threads waited for the lock of their address space, and how often; None if it is unknown.
    storage_wait, fault_storage_wait
        How many seconds threads waited for storage: in total, and within faults.
    cpu_seconds
        CPU time of the first process.
    operations
        Operations of the first process; None if the program does not report them.
    maps_itself
        Whether the program itself, rather than its malloc, takes memory from the kernel and gives it back.
    """

    profile: Profile
    anatomy: Anatomy
    faults: int
    timed: bool
    fault_cost_share: float
    lock_wait: float
    storage_wait: float
    fault_storage_wait: float
    cpu_seconds: float
    operations: float | None
    call_costs: Mapping[str, float] = field(default_factory=dict)
    maps_itself: bool = False
    n_lock_waits: int | None = None
    before: Facts | None = None

    @classmethod
    def from_profile(cls, profile: Profile, before: Profile | None = None) -> Facts:
        """Extract the facts of a profile, and of the earlier profile if there is one."""
        anatomy = profile.anatomy or _EMPTY
        is_timed = profile.on_cpu is not None and profile.on_cpu.samples >= _MIN_STACKS and profile.on_cpu.total > 0
        fault_cost_share = 0.0
        call_costs: dict[str, float] = {}
        if is_timed and profile.on_cpu:
            fault_cost_share, call_costs = _compute_cost_shares(profile, profile.on_cpu)
        if is_timed and not _may_show_kernel(profile):
            # No stack shows the kernel: this is an upper bound of the faults' cost.
            fault_cost_share = compute_system_share(profile)
        lock_frames = _find_frames(profile, _LOCK_FUNCTION)
        memory_call_frames = _find_frames(profile, _MEMORY_CALLS)
        storage_frames = _find_frames(profile, _STORAGE_FUNCTION)
        fault_frames = _find_frames(profile, _FAULT_FUNCTION)
        return cls(
            profile=profile,
            anatomy=anatomy,
            faults=anatomy.counted,
            timed=is_timed,
            fault_cost_share=fault_cost_share,
            lock_wait=_sum_waits(profile.off_cpu, lock_frames, memory_call_frames),
            storage_wait=_sum_waits(profile.off_cpu, storage_frames),
            fault_storage_wait=_sum_waits(profile.off_cpu, storage_frames, fault_frames),
            # The readings are sums over all processes, of which only the first was profiled.
            cpu_seconds=_find_first_value(profile, "region:task-clock", "task-clock") / profile.processes,
            operations=profile.operations / profile.processes if profile.operations else None,
            call_costs=call_costs,
            maps_itself=_is_mapped_by_program(profile),
            n_lock_waits=_count_waits(profile.off_cpu, lock_frames, memory_call_frames),
            before=None if before is None else cls.from_profile(before),
        )

    @property
    def page_size(self) -> int:
        """The page size of the profiled host in bytes; 4 KiB if it is unknown."""
        return self._read_number("memory.page_size") or _USUAL_PAGE_BYTES

    @property
    def pages_per_huge_page(self) -> int:
        """How many pages a transparent huge page replaces: as many as a page of the page table has entries."""
        return self.page_size // _ENTRY_BYTES

    @property
    def huge_page_policy(self) -> str | None:
        """The policy for huge pages that applies to the process; None if it is unknown.

        Since Linux 6.8, the policy of the size counts, unless it says ``inherit``.
        """
        settings = self.profile.environment.settings
        kibibytes = self.page_size * self.pages_per_huge_page >> 10
        values = (settings.get(name) for name in ("process.huge_pages", f"mthp.{kibibytes}kB", "thp.enabled"))
        return next((value for value in values if value in HUGE_PAGE_POLICIES), None)

    @property
    def may_have_huge_pages(self) -> bool:
        """Whether the kernel has transparent huge pages; true if this is unknown."""
        settings = self.profile.environment.settings
        return self.huge_page_policy is not None or "memory.page_size" not in settings

    @property
    def memory_call_share(self) -> float:
        """Share of the CPU time spent in all system calls that take memory and give it back."""
        return sum(self.call_costs.values())

    def sum_costs(self, *calls: str) -> float:
        """Return the share of the CPU time spent in the given system calls."""
        return sum(self.call_costs.get(call, 0.0) for call in calls)

    @property
    def seconds_per_fault(self) -> float | None:
        """Mean CPU time of a fault; None if it was not measured."""
        if not self.timed or not self.faults or not self.fault_cost_share:
            return None
        return self.fault_cost_share * self.cpu_seconds / self.faults

    @property
    def idle_share(self) -> float:
        """Share of the processors' time that the program left unused; 1 if it is unknown."""
        elapsed_seconds = self.profile.find_value("elapsed")
        cpu_seconds = self.profile.find_value("task-clock")
        processors = self._read_number("cpu.allowed")
        if not elapsed_seconds or cpu_seconds is None or not processors:
            return 1.0
        return max(0.0, 1 - cpu_seconds / (elapsed_seconds * processors))

    def _read_number(self, name: str) -> int:
        """Return the value of a setting that is a whole number; 0 if it is unknown or invalid."""
        text = self.profile.environment.settings.get(name, "")
        return int(text) if text.isdecimal() and len(text) <= _MAX_NUMBER_DIGITS else 0

    @property
    def kinds(self) -> Sequence[FaultKind | Site]:
        """The faults by memory, touch and file; if these are unknown, the places with the most faults."""
        return self.anatomy.kinds or self.anatomy.sites

    def sum_shares(self, memory: Collection[Memory], *touches: Touch) -> float:
        """Return the share of the faults with given touches in given kinds of memory."""
        entries = (entry for entry in self.kinds if entry.memory in memory and entry.touch in touches)
        return sum(entry.faults for entry in entries) / self.faults if self.faults else 0.0

    def count_faults(self, memory: Collection[Memory], *touches: Touch) -> int:
        """Return the number of faults with given touches in given kinds of memory; 0 if kinds are unknown."""
        return sum(kind.faults for kind in self.anatomy.kinds if kind.memory in memory and kind.touch in touches)

    def format_cost(self, share: float) -> str:
        """Format a share of the CPU time that faults take: ``12 %``, or ``up to 12 %`` if no stack shows the kernel."""
        return format_share(share) if _may_show_kernel(self.profile) else f"up to {format_share(share)}"

    def estimate_cost(self, faults: int) -> float:
        """Return the share of the CPU time that a number of faults take, at the mean cost of a fault."""
        return self.fault_cost_share * faults / self.faults if self.faults else 0.0

    @property
    def program_share(self) -> float:
        """Share of the faults in memory that the program itself requested."""
        return sum(self.anatomy.by_memory.get(kind, 0) for kind in OWN_MEMORY) / self.faults if self.faults else 0.0

    @property
    def first_touch_share(self) -> float:
        """Share of the faults that were the first touch of a page."""
        return self.anatomy.by_touch.get(Touch.FIRST, 0) / self.faults if self.faults else 0.0

    def count_calls(self, *names: str) -> int:
        """Return how often the given system calls were made; 0 if they were not counted."""
        census = self.profile.census
        return sum(census.calls[name].calls for name in names if name in census.calls) if census else 0

    @property
    def populated_bytes(self) -> int:
        """Bytes of memory that system calls provided at once; 0 if they were not recorded."""
        return self.profile.census.populated_bytes if self.profile.census else 0

    def count_advice(self, name: str) -> int:
        """Return how often madvise was called with the given advice; 0 if it was not recorded."""
        return self.profile.census.advice.get(name, 0) if self.profile.census else 0

    @property
    def requests_per_operation(self) -> float | None:
        """How often an operation requests memory from the kernel and gives it back; None if operations are unknown.

        Permanent mappings, such as the libraries of an interpreter, belong to no operation, so at most as many calls of
        mmap count as there are calls of munmap. Half of the calls of brk are assumed to give back what the other half
        took.
        """
        if not self.operations:
            return None
        mapped = self.count_calls("mremap") + min(self.count_calls("mmap"), self.count_calls("munmap"))
        return (mapped + self.count_calls("brk") / 2) / self.operations

    @property
    def largest_area(self) -> Area | None:
        """The memory area with the most faults; None if no areas are known."""
        return self.anatomy.areas[0] if self.anatomy.areas else None

    @property
    def top_function(self) -> tuple[str, ...]:
        """The function with the most faults, as a sentence; empty if no sites are known."""
        return self._describe_top_function("of the faults are", self.anatomy.sites)

    def describe_top_site(self, what: str, touches: Collection[Touch], memory: Collection[Memory]) -> tuple[str, ...]:
        """Return a sentence on the function with the most faults of given touches in given memory; empty if unknown."""
        sites = [site for site in self.anatomy.sites if site.touch in touches and site.memory in memory]
        return self._describe_top_function(what, sites)

    def find_returning_line(self, *calls: str) -> str:
        """Return the program's line, with its function, from which the given system calls give memory back.

        Empty if it is unknown; see :meth:`find_returning_place`.
        """
        return self.find_returning_place(find_own_line, *calls) or ""

    def find_returning_place(self, find_place: Callable[[Sequence[Frame]], _Place], *calls: str) -> _Place | None:
        """Return the place from which the given system calls give memory back, or do so more often than before.

        It is the place with most of the faults on pages that these calls gave back. If the stacks of the calls were not
        recorded, it is the place with most of their CPU-time samples, since their time grows with the memory given
        back. Given the earlier profile, only the function in which these weights grew most counts; for CPU time only if
        there are more calls than before.
        None if there are too few samples, or if no place, or no function, has half of them. In stacks recorded with
        frame pointers, the place is unknown if a library makes the call, because the C library has no frame pointers.
        Go's runtime, which is part of the program, has them.

        Parameters
        ----------
        find_place
            Returns the place of a stack, given its frames, outermost first.
        """
        recorded_stacks = self.profile.returned or self.profile.on_cpu
        if recorded_stacks is None or not recorded_stacks.total:
            return None
        is_exact = self.profile.returned is not None
        stacks = list(self._iterate_returning_stacks(calls, is_exact=is_exact))
        weight = sum(weight for _, weight in stacks)
        if self.before is not None and (is_exact or self.returns_more_often(*calls)):
            stacks_before = self.before._iterate_returning_stacks(calls, is_exact=is_exact)
            stacks, weight = _select_grown_function(stacks_before, stacks)
        n_samples = recorded_stacks.samples * weight / recorded_stacks.total
        if not n_samples or (not is_exact and n_samples < _MIN_CALLING_SAMPLES):
            return None
        return _find_leading_place(stacks, find_place, has_frame_pointers=recorded_stacks.call_graph == "fp")

    def find_requesting_place(
        self, find_place: Callable[[Sequence[Frame]], _Place], *, without_heap: bool = False, least_faults: float = 0
    ) -> _Place | None:
        """Return the place that requests the program's memory from the kernel, or requests more of it than before.

        It is the place with most of the first touches of the memory that its calls requested. Given the earlier
        profile, only the function in which these touches grew most counts. None if no place, or no function, has half
        of them, or if the stacks of the calls were not recorded. See :meth:`find_returning_place`.

        Parameters
        ----------
        without_heap
            Whether to leave out the heap that ``brk`` extends: what extended it last may not have requested the bytes
            that are touched.
        least_faults
            The least number of first touches that the function must have gained, or have if there is no other profile.
        """
        requested = self.profile.requested
        if requested is None:
            return None
        ignored_calls = ("brk",) if without_heap else ()
        stacks = list(_iterate_call_stacks(self.profile, requested, ignored_calls=ignored_calls))
        weight = sum(stack_weight for _, stack_weight in stacks)
        if self.before is not None:
            stacks_before = _iterate_call_stacks(
                self.before.profile, self.before.profile.requested, ignored_calls=ignored_calls
            )
            stacks, weight = _select_grown_function(stacks_before, stacks)
        if not weight or weight < least_faults:
            return None
        return _find_leading_place(stacks, find_place, has_frame_pointers=requested.call_graph == "fp")

    def find_populating_line(self) -> str:
        """Return the program's line for which the kernel spends most of the CPU time of populating memory.

        Empty if it is unknown, or if no line has half of this time.
        """
        weights: Counter[str] = Counter()
        for stack in _list_stacks(self.profile.on_cpu, _find_frames(self.profile, _POPULATING_FUNCTION)):
            weights[find_own_line([self.profile.frames[index] for index in stack.frames])] += stack.weight
        if not weights:
            return ""
        ((line, weight),) = weights.most_common(1)
        return line if 2 * weight >= weights.total() else ""

    def returns_more_often(self, *calls: str) -> bool:
        """Return whether the given system calls were made notably more often than before; False if that is unknown."""
        if self.before is None or self.before.profile.census is None:
            return False
        return self.count_calls(*calls) > _MAX_SAME_CALLS_FACTOR * self.before.count_calls(*calls)

    def _iterate_returning_stacks(
        self, calls: Sequence[str], *, is_exact: bool
    ) -> Iterator[tuple[Sequence[Frame], int]]:
        """Yield the stacks of the given system calls, with the faults on pages that they gave back.

        If ``is_exact`` is false, they are the stacks recorded while the calls took CPU time, with this time.
        """
        if is_exact:
            yield from _iterate_call_stacks(self.profile, self.profile.returned, calls)
            return
        call_frames = frozenset(index for index, call in _map_calls_by_frame(self.profile).items() if call in calls)
        for stack in _list_stacks(self.profile.on_cpu, call_frames):
            yield [self.profile.frames[index] for index in stack.frames], stack.weight

    def describe_top_major_site(self) -> tuple[str, ...]:
        """Return the function with the most major faults, as a sentence; empty if unknown."""
        return self._describe_top_function("of the major faults are", self.anatomy.major_sites)

    def _describe_top_function(self, what: str, sites: Iterable[Site]) -> tuple[str, ...]:
        """Return a sentence on the function with the most faults at the given sites; ``what`` is its verb phrase."""
        sums: Counter[str] = Counter()
        for site in sites:
            sums[site.frame.function] += site.faults
        if not sums:
            return ()
        ((function, faults),) = sums.most_common(1)
        return (f"{faults:,} {what} in {shorten_name(function)}{self._describe_call_path(function)}",)

    def list_lines(self) -> tuple[str, ...]:
        """Return the facts as lines of text."""
        return tuple(self._list_lines())

    def _list_lines(self) -> Iterator[str]:
        """Yield the facts as lines of text: faults, their kinds, CPU time, waits and system calls."""
        faults = f"{self.faults:,} {choose_unit(self.faults, 'faults')}"
        yield f"{faults}{self._format_pages()}, {self.anatomy.major:,} major"
        for title, table in (("by memory", self.anatomy.by_memory), ("by touch", self.anatomy.by_touch)):
            if table:
                yield f"{title}: " + ", ".join(f"{kind.value} {number:,}" for kind, number in table.items())
        if self.timed:
            yield (
                f"{self.format_cost(self.fault_cost_share)} of the CPU time goes into faults, "
                f"{format_share(self.memory_call_share)} into mapping and unmapping"
            )
        else:
            yield "too little CPU time was recorded to estimate the cost of the faults"
        lock_wait, cpu_time = format_quantity(self.lock_wait, "s"), format_quantity(self.cpu_seconds, "s")
        yield f"all threads together waited {lock_wait} for the mmap lock and used {cpu_time} of CPU time"
        if self.storage_wait:
            yield f"all threads together waited {format_quantity(self.storage_wait, 's')} for storage"
        if self.profile.census:
            counts = (f"{name} {call.calls:,}" for name, call in self.profile.census.calls.items())
            yield "system calls: " + (", ".join(counts) or "none that allocate or release memory")
        yield from self.top_function
        if self.profile.python_lines:
            line = max(self.profile.python_lines, key=lambda line: line.faults)
            place = f"{line.file}:{line.line} in {line.function}"
            yield f"the Python line with the most faults is {place}: {line.faults:,}"

    def _format_pages(self) -> str:
        """Return on how many pages the faults were; empty if only a part of the faults was recorded."""
        if self.anatomy.is_scaled:
            return ""
        ratio = self.anatomy.refault_ratio
        per_page = f" ({format_number(ratio)} per page)" if ratio else ""
        return f" on {self.anatomy.pages:,} {choose_unit(self.anatomy.pages, 'pages')}{per_page}"

    def _describe_call_path(self, function: str) -> str:
        """Describe the heaviest stack of a function: the program's own innermost line, and the innermost functions."""
        stacks = self.profile.faults.stacks if self.profile.faults else ()
        frames_of_stacks = ([self.profile.frames[index] for index in stack.frames] for stack in stacks)
        stacks_of_function = [
            frames for frames in frames_of_stacks if any(frame.function == function for frame in frames)
        ]
        if not stacks_of_function:
            return ""
        # The function is innermost, unless the frame of a function inlined into it was recorded.
        frames = next(
            (frames for frames in stacks_of_function if frames[-1].function == function), stacks_of_function[0]
        )
        own_line = find_own_line(frames)
        prefix_of_function = f"{shorten_name(function)} at "
        place_clause = ""
        if own_line.startswith(prefix_of_function):
            place_clause = f", at {own_line.removeprefix(prefix_of_function)}"
        elif own_line:
            place_clause = f", called in {own_line}"
        innermost_functions = [shorten_name(frame.function) for frame in reversed(frames[-4:])]
        return f"{place_clause} ({' ← '.join(innermost_functions)})"


def name_files(files: Sequence[str]) -> str:
    """Return the names of up to three files, and the number of the others: ``a, b, c and 2 other files``."""
    n_others = len(files) - _MAX_NAMED_FILES
    others = [format_count(n_others, "other file")] if n_others > 0 else []
    return join_words([*files[:_MAX_NAMED_FILES], *others])


def _may_show_kernel(profile: Profile) -> bool:
    """Return whether the stacks may contain functions of the kernel: one does, or no frame names its module.

    Without the permission to record the kernel, or to read the addresses of its symbols, stacks do not contain them.
    At most, a frame at an unknown place of the kernel remains, where an interrupt came a moment too late.
    """
    modules = {frame.module for frame in profile.frames if frame.module}
    return not modules or any(
        frame.module.startswith("[kernel") and frame.function != UNKNOWN_FUNCTION for frame in profile.frames
    )


def compute_system_share(profile: Profile) -> float:
    """Return the share of the CPU time that was spent in the kernel: an upper bound of the cost of faults."""
    system_time, user_time = (
        _find_first_value(profile, f"region:{name}-time", f"{name}-time") for name in ("sys", "user")
    )
    cpu_time = system_time + user_time
    return system_time / cpu_time if cpu_time else 0.0


def compute_cpu_share(profile: Profile, functions: re.Pattern[str]) -> float:
    """Return the share of the recorded CPU time in stacks that contain one of the given functions."""
    on_cpu = profile.on_cpu
    if on_cpu is None or not on_cpu.total:
        return 0.0
    frames = _find_frames(profile, functions)
    return sum(stack.weight for stack in on_cpu.stacks if not frames.isdisjoint(stack.frames)) / on_cpu.total


def is_image_file(profile: Profile, memory: Memory, file: str) -> bool:
    """Return whether memory is the program's own image: its text, or data of a file whose code it executes."""
    if memory is Memory.FILE_TEXT:
        return True
    return memory is Memory.FILE_DATA and (
        _LIBRARY.search(file) is not None
        or any(frame.module == file for frame in profile.frames)
        or any(kind.file == file and kind.memory is Memory.FILE_TEXT for kind in (profile.anatomy or _EMPTY).kinds)
    )


def _compute_cost_shares(profile: Profile, on_cpu: StackProfile) -> tuple[float, dict[str, float]]:
    """Return the shares of the recorded CPU time in faults, and in each system call that maps or unmaps."""
    fault_frames = _find_frames(profile, _FAULT_FUNCTION)
    call_of_frame = _map_calls_by_frame(profile)
    fault_weight = 0
    weight_of_call: Counter[str] = Counter()
    for stack in on_cpu.stacks:
        if not fault_frames.isdisjoint(stack.frames):  # a fault within a call counts as a fault
            fault_weight += stack.weight
            continue
        call = next((call_of_frame[index] for index in stack.frames if index in call_of_frame), None)
        if call is not None:
            weight_of_call[call] += stack.weight
    return fault_weight / on_cpu.total, {call: weight / on_cpu.total for call, weight in weight_of_call.items()}


def _map_calls_by_frame(profile: Profile) -> dict[int, str]:
    """Return, by frame index, the system call that maps or unmaps to which a kernel frame belongs."""
    matches = {index: _MAPPING_FUNCTION.fullmatch(frame.function) for index, frame in enumerate(profile.frames)}
    return {index: match[1] for index, match in matches.items() if match is not None}


def _is_mapped_by_program(profile: Profile) -> bool:
    """Return whether the stacks of calls that map or unmap show that the program makes them, rather than a malloc.

    The stacks of the calls that gave back what faults again are exact; otherwise the calls are sampled by CPU time.
    Stacks recorded with frame pointers are not enough: the C library has none, so they lack the calling function.
    """
    stack_profile = profile.returned or profile.on_cpu
    if stack_profile is None or stack_profile.call_graph == "fp":
        return False
    malloc_frames = _find_frames(profile, _MALLOC_FUNCTION) | {
        index for index, frame in enumerate(profile.frames) if is_allocator_frame(frame)
    }
    stacks = stack_profile.stacks
    if not profile.returned:
        mapping_frames = _find_frames(profile, _MAPPING_FUNCTION)
        stacks = tuple(stack for stack in stacks if not mapping_frames.isdisjoint(stack.frames))
    weight = sum(stack.weight for stack in stacks)
    malloc_weight = sum(stack.weight for stack in stacks if not malloc_frames.isdisjoint(stack.frames))
    n_samples = stack_profile.samples * weight / stack_profile.total if stack_profile.total else 0
    is_known = profile.returned is not None or n_samples >= _MIN_CALLING_SAMPLES
    return is_known and malloc_weight <= _MAX_SHARE_OF_MALLOC * weight


def _sum_waits(off_cpu: StackProfile | None, *frame_sets: frozenset[int]) -> float:
    """Return how many seconds threads waited in stacks that contain a frame of each set.

    The weights of these stacks are in nanoseconds.
    """
    return sum(stack.weight for stack in _list_stacks(off_cpu, *frame_sets)) / 1e9


def _count_waits(off_cpu: StackProfile | None, *frame_sets: frozenset[int]) -> int | None:
    """Return how often threads waited in stacks that contain a frame of each set; None if it is unknown.

    Only one in ``period`` waits is recorded.
    """
    numbers = [stack.waits for stack in _list_stacks(off_cpu, *frame_sets)]
    if off_cpu is None or None in numbers:
        return None
    return off_cpu.period * sum(number or 0 for number in numbers)


def _list_stacks(stacks: StackProfile | None, *frame_sets: frozenset[int]) -> list[Stack]:
    """Return the stacks that contain a frame of each set."""
    return [
        stack
        for stack in (stacks.stacks if stacks else ())
        if not any(frames.isdisjoint(stack.frames) for frames in frame_sets)
    ]


def _iterate_call_stacks(
    profile: Profile,
    stack_profile: StackProfile | None,
    calls: Collection[str] = (),
    *,
    ignored_calls: Collection[str] = (),
) -> Iterator[tuple[Sequence[Frame], int]]:
    """Yield the stacks of system calls without the call itself, with their weights.

    Parameters
    ----------
    calls
        The names of the calls to yield; all if empty.
    ignored_calls
        The names of calls that are not yielded.
    """
    for stack in stack_profile.stacks if stack_profile else ():
        *frames, call = (profile.frames[index] for index in stack.frames)
        if (not calls or call.function in calls) and call.function not in ignored_calls:
            yield frames, stack.weight


def _find_leading_place(
    stacks: Iterable[tuple[Sequence[Frame], int]],
    find_place: Callable[[Sequence[Frame]], _Place],
    *,
    has_frame_pointers: bool,
) -> _Place | None:
    """Return the place with at least half of the weight of some stacks; None if there is none, or if it is unknown.

    Parameters
    ----------
    has_frame_pointers
        Whether the stacks were unwound by frame pointers, which the C library does not have.
    """
    weights: Counter[_Place | None] = Counter()
    for frames, stack_weight in stacks:
        is_known = not has_frame_pointers or not _is_innermost_in_library(frames)
        weights[find_place(frames) if is_known else None] += stack_weight
    if not weights:
        return None
    ((place, weight),) = weights.most_common(1)
    return place if 2 * weight >= weights.total() else None


def _select_grown_function(
    before: Iterable[tuple[Sequence[Frame], int]], after: Sequence[tuple[Sequence[Frame], int]]
) -> tuple[list[tuple[Sequence[Frame], int]], int]:
    """Return the stacks of the function whose stacks grew most, and by how much; 0 if none has half of the growth.

    A stack belongs to the program's innermost function. Functions are compared, and not lines: the numbers of unchanged
    lines change.
    """
    growths: Counter[str] = Counter()
    for stacks, sign in ((before, -1), (after, 1)):
        for frames, weight in stacks:
            growths[_find_own_function(frames)] += sign * weight
    grown = +growths
    if not grown:
        return [], 0
    ((function, growth),) = grown.most_common(1)
    stacks_of_function = [(frames, weight) for frames, weight in after if _find_own_function(frames) == function]
    return stacks_of_function, growth if 2 * growth >= grown.total() else 0


def _find_own_function(frames: Sequence[Frame]) -> str:
    frame = find_own_frame(frames)
    return "" if frame is None else frame.function


def _is_innermost_in_library(frames: Sequence[Frame]) -> bool:
    """Return whether the innermost frame outside of the kernel is in a shared library, or unknown."""
    user_frame = next((frame for frame in reversed(frames) if not frame.module.startswith("[")), None)
    return user_frame is None or _LIBRARY.search(user_frame.module) is not None


def _find_frames(profile: Profile, functions: re.Pattern[str]) -> frozenset[int]:
    """Return the indices of the frames of the given functions; matching frames is cheaper than matching stacks."""
    return frozenset(index for index, frame in enumerate(profile.frames) if functions.fullmatch(frame.function))


def _find_first_value(profile: Profile, *names: str) -> float:
    """Return the value of the first of ``names`` that has one; 0 if none has."""
    values = (profile.find_value(name) for name in names)
    return next((value for value in values if value is not None), 0.0)
