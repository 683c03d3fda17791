"""Classifies recorded faults by memory, touch, access and place, and counts system calls."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from runner.contract import profile as contract
from runner.contract.profile import Access, Anatomy, Area, Call, Census, FaultKind, Memory, Site, Touch
from runner.errors import FaultwatchError
from runner.profile.fault_access import FaultAccess, Instruction
from runner.profile.labels import cut_label
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings
from runner.profile.page_states import LateAttachPageStates, PageStates
from runner.profile.recorded_system_calls import ENTRY_PREFIX, MREMAP_EXIT
from runner.profile.script_parser import (
    Event,
    Executed,
    Fault,
    Forked,
    Lost,
    Mapped,
    ScriptError,
    Traced,
    parse_arguments,
    split_place,
)

Locate = Callable[[Iterable["CodePlace"]], dict["CodePlace", contract.Frame]]
"""Returns the source lines of many places, which are looked up together."""

_MAX_SITES = 200
_MAX_AREAS = 20
_MAX_FILES = 100
_MAX_KINDS = 1000
"""The largest number of kinds of faults that the contract allows."""
_FIXED = 2
"""The flag MREMAP_FIXED, with which mremap replaces what is mapped at the new address."""
_DONT_UNMAP = 4
"""The flag MREMAP_DONTUNMAP, with which mremap leaves the old range mapped, without its pages."""
_MAP_POPULATE, _MAP_LOCKED = 0x8000, 0x2000
_POPULATING_ADVICE = {22, 23}
"""Advice of madvise: POPULATE_READ, POPULATE_WRITE."""
_FORBIDDING_OPTION, _FORBIDDING_NAME = 41, "PR_SET_THP_DISABLE"
"""The option of prctl with which a program forbids itself huge pages."""
_MLOCK_ONFAULT, _MCL_FUTURE = 1, 2
_OTHER_MEMORY, _SHARED_MEMORY = Memory.OTHER.value, Memory.SHARED.value
_PRIVATE_KINDS = frozenset(
    memory.value for memory in (Memory.HEAP, Memory.ARENA, Memory.ANONYMOUS, Memory.STATIC, Memory.STACK)
)
_FIRST_TOUCH, _REPEATED_TOUCH, _AFTER_FORK = Touch.FIRST.value, Touch.AGAIN.value, Touch.AFTER_FORK.value
_AFTER_MUNMAP = Touch.AFTER_MUNMAP.value
_FAULT_AROUND_BYTES = 1 << 16
"""The size of the aligned parts of a file that a single read fault maps (fault-around)."""
_CALL_NAME = re.compile(r"[a-z0-9_]{1,100}")
_MAX_BYTES = 2**64
"""The largest number of bytes in a census."""
_MAX_ADDRESS = 2**63
"""Addresses of programs are below this number, and the results of calls that failed are above it."""
_ADVICE = {
    **{0: "MADV_NORMAL", 1: "MADV_RANDOM", 2: "MADV_SEQUENTIAL", 3: "MADV_WILLNEED", 4: "MADV_DONTNEED"},
    **{8: "MADV_FREE", 9: "MADV_REMOVE", 10: "MADV_DONTFORK", 12: "MADV_MERGEABLE", 14: "MADV_HUGEPAGE"},
    **{15: "MADV_NOHUGEPAGE", 20: "MADV_COLD", 21: "MADV_PAGEOUT", 22: "MADV_POPULATE_READ"},
    **{23: "MADV_POPULATE_WRITE", 24: "MADV_DONTNEED_LOCKED", 25: "MADV_COLLAPSE"},
    **{102: "MADV_GUARD_INSTALL", 103: "MADV_GUARD_REMOVE"},
}
"""The advice of madvise by its number, as in ``include/uapi/asm-generic/mman-common.h`` of Linux."""
_MAX_QUOTED_CHARACTERS = 100


class CodePlace(Struct, frozen=True):
    """A place in the code of a program: an offset in a module, and the function there as perf names it."""

    module: str
    offset: int
    function: str


_Place = tuple[int, int, str, Memory, Touch, str]
"""A place where faults happened (image, address of the instruction, function and module) and their kind (memory,
touch, file)."""


class _ThreadFaults(Struct):
    """The faults of one thread in one mapping."""

    mapping: MemoryMapping
    faults: int = 0
    first_time: float = 0.0
    last_time: float = 0.0


class AnatomyBuilder(Struct):
    """Collects the events of one recording in chronological order, and builds the anatomy of its faults.

    An *image* is the memory of a process from its begin, or from the execution of a program, to the next execution or
    the end. Its number is that of the process for the first image, and otherwise negative: a process can execute many
    programs, whose addresses mean different things, and its number can be used again.

    Attributes
    ----------
    period
        The number of faults for which one fault was recorded.
    page_size
        The page size in bytes of the kernel that made the recording.
    access
        Determines how memory was accessed, on the architecture of the recording.
    attached_late
        Whether the processes were running already when the recording began, so that pages may have been touched before.
    calls_end
        The time of the last call that is known, if faults were recorded for longer than calls.
    file_parts
        The parts of mapped files that faulted, by image. Those of an earlier recording of the same processes can be
        given, and those of this recording are added.
    """

    period: int
    page_size: int
    access: FaultAccess
    attached_late: bool = False
    calls_end: float = math.inf
    file_parts: set[tuple[int, str, int]] = field(default_factory=set)
    lost: int = 0
    recorded: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    advice: Counter[str] = field(default_factory=Counter)
    forks: int = 0
    threads: int = 0
    _bytes: Counter[str] = field(default_factory=Counter)
    _populated_bytes: int = 0
    _locked_images: set[int] = field(default_factory=set)
    """The images that have asked with mlockall to populate all memory that they will map."""
    _images: dict[int, int] = field(default_factory=dict)
    """By process: the number of its present image, if the process began or executed a program meanwhile."""
    _last_image: int = -1
    """The number of the latest image; below -1, which perf writes for an unknown process."""
    _maps: dict[int, ProcessMappings] = field(default_factory=dict)
    _pages: dict[int, PageStates] = field(default_factory=dict)
    _major_faults: Counter[Memory] = field(default_factory=Counter)
    # These are updated at each fault; the tables of the anatomy are derived from them at the end.
    _faults: dict[tuple[int, int, str, int | None, bool, str, str, str], int] = field(default_factory=dict)
    _major_places: Counter[tuple[int, int, str, str, str]] = field(default_factory=Counter)
    _modules: dict[tuple[int, int], MemoryMapping | None] = field(default_factory=dict)
    _thread_faults: dict[tuple[int, int, int], _ThreadFaults] = field(default_factory=dict)
    _processes: dict[int, int] = field(default_factory=dict)
    """The process of each thread that has faulted."""
    _shared_pages: set[int] = field(default_factory=set)
    """The pages of shared memory that faulted in some process."""
    _forked_images: set[int] = field(default_factory=set)
    """The images whose process has forked since or was created by a fork."""
    _heap_ends: dict[int, int] = field(default_factory=dict)
    """The requested end of each image's heap, in whole pages."""
    _open_mremaps: dict[int, dict[str, int]] = field(default_factory=dict)
    """By thread: the arguments of an mremap that has not returned yet."""
    _time_range: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        """Give no image the number of one that began in the earlier recording."""
        self._last_image = min((self._last_image, *(image for image, _, _ in self.file_parts)))

    def add_events(self, events: Iterable[Event], calls: Iterable[Traced] = ()) -> None:
        """Add recorded events, merged by time with calls that another tool recorded with the same clock.

        A call's process id may be only that of its thread. Calls are added just before the first fault that follows
        them, because no other event depends on them.

        Raises
        ------
        FaultwatchError
            A system call has no valid name, or lacks an argument.
        """
        remaining_calls = iter(calls)
        call = next(remaining_calls, None)
        for event in events:
            match event:
                case Fault():
                    self._processes[event.tid] = event.pid
                    while call is not None and call.time <= event.time:
                        self._add_tracepoint(self._complete_call(call))
                        call = next(remaining_calls, None)
                    self._add_fault(event)
                case Traced():
                    self._add_tracepoint(event)
                case Mapped():
                    image = self._get_image(event.pid)
                    mappings = self._get_mappings(image)
                    mapping = mappings.identify_use(MemoryMapping.from_event(event))
                    # The kernel names the heap only after it has grown.
                    if mapping.end == self._heap_ends.get(image) and mapping.memory is Memory.ANONYMOUS:
                        mapping = mapping.with_memory(Memory.HEAP)
                    mappings.add(mapping)
                case Forked() if event.pid != event.parent:  # a process, not a thread
                    parent, image = self._get_image(event.parent), self._begin_image(event.pid)
                    self._maps[image] = self._get_mappings(parent).copy()
                    self._pages[image] = self._get_pages(parent).fork()
                    if parent in self._heap_ends:
                        self._heap_ends[image] = self._heap_ends[parent]
                    self._forked_images |= {image, parent}
                    self.forks += 1
                case Forked() if self.recorded:
                    self.threads += 1  # Threads that are reported before the first fault are older than the recording.
                case Executed():
                    self._begin_image(event.pid)
                case Lost():
                    self.lost += event.number
        # Add the calls after the last fault.
        while call is not None:
            self._add_tracepoint(self._complete_call(call))
            call = next(remaining_calls, None)

    def _complete_call(self, call: Traced) -> Traced:
        """Return a call with the process of its thread if the thread has faulted; otherwise return it unchanged."""
        return call._replace(pid=self._processes.get(call.tid, call.pid))

    def add_calls(self, events: Iterable[Event]) -> None:
        """Add the system calls of another recording of the same execution.

        The recording's other events, such as program starts and mappings, are ignored: the recording of the faults
        contains them too.
        """
        separate_builder = AnatomyBuilder(self.period, self.page_size, self.access)
        separate_builder.add_events(events)
        self.calls.update(separate_builder.calls)
        self.advice.update(separate_builder.advice)
        self._bytes.update(separate_builder._bytes)
        self._populated_bytes += separate_builder._populated_bytes
        self.lost += separate_builder.lost

    def build_anatomy(self, n_counted: int, locate: Locate) -> Anatomy:
        """Build the anatomy, whose tables add up to the counted faults.

        Parameters
        ----------
        n_counted
            The number of faults that perf counted; 0 if only the recorded faults matter.
        """
        # Each recorded fault stands for ``period`` faults, so the sum can exceed the counted number.
        n_counted = max(n_counted, self.recorded)
        unrecorded = n_counted - self.recorded
        memory = Counter({Memory.OTHER: unrecorded})
        touch = Counter({Touch.UNKNOWN: unrecorded})
        access = Counter({Access.UNKNOWN: unrecorded})
        kinds = Counter({(Memory.OTHER, Touch.UNKNOWN, ""): unrecorded})
        for (
            image,
            ip,
            place_text,
            error_code,
            is_fetch,
            memory_kind,
            touch_kind,
            file,
        ), faults in self._faults.items():
            memory[Memory(memory_kind)] += faults
            kinds[Memory(memory_kind), self._convert_touch(touch_kind), file] += faults
            touch[self._convert_touch(touch_kind)] += faults
            instruction = self._locate_instruction(image, ip, place_text)
            access[self.access.classify(error_code, instruction, is_fetch=is_fetch)] += faults
        sites = self._locate_sites(locate)
        # The unary plus removes entries without faults from the counters.
        return Anatomy(
            counted=n_counted,
            recorded=self.recorded,
            period=self.period,
            lost=self.lost,
            unrecorded=unrecorded,
            major=self._major_faults.total(),
            pages=sum(len(pages) for pages in self._pages.values()),
            by_memory=dict((+memory).most_common()),
            by_touch=dict((+touch).most_common()),
            by_access=dict((+access).most_common()),
            major_by_memory=dict(self._major_faults.most_common()),
            kinds=merge_small_files(+kinds),
            major_sites=self._locate_major_sites(locate),
            forks=self.forks,
            threads=self.threads,
            shared_pages=len(self._shared_pages),
            sites=sites,
            faults_at_other_sites=n_counted - sum(site.faults for site in sites),
            areas=self._build_areas(),
            seconds=max(0.0, self._time_range[1] - self._time_range[0]),
        )

    def build_census(self, source: Literal["tracepoints", "strace"] = "tracepoints") -> Census:
        """Return the census: for each system call, how many times it was called, and how many bytes it concerned."""
        names = sorted(self.calls)
        return Census(
            source=source,
            calls={name: Call(calls=self.calls[name], bytes=self._bytes[name]) for name in names},
            advice=dict(self.advice.most_common()),
            populated_bytes=self._populated_bytes,
        )

    def _add_fault(self, event: Fault) -> None:
        """Add one recorded fault, classified by its memory, its page's history, and its place in the program."""
        pid, tid, time, name, address, ip, place_text, error_code = event
        image = self._images.get(pid, pid)
        mappings = self._get_mappings(image)
        mapping = mappings.find(address) or mappings.grow_stack(address)
        memory_kind, file = (mapping.kind, mapping.file) if mapping else (_OTHER_MEMORY, "")
        if (image, ip) not in self._modules:
            # Look this up now, because the code may be unmapped later.
            self._modules[image, ip] = self._get_mappings(image).find(ip)
        if name == "major-faults":
            # perf applies the period to both events, so a recorded major fault stands for as many as any other.
            self._major_faults[mapping.memory if mapping else Memory.OTHER] += self.period
            self._major_places[image, ip, place_text, memory_kind, file] += self.period
            return
        page = address // self.page_size
        only_read = memory_kind in _PRIVATE_KINDS and self.access.is_read(error_code)
        pages = self._get_pages(image)
        touch_kind = pages.record_fault(page, only_read=only_read)
        if time > self.calls_end:
            pages.expect_return(page, touch_kind)
        if memory_kind == _SHARED_MEMORY:
            self._shared_pages.add(page)
            if touch_kind == _AFTER_FORK:
                # A fork does not copy page tables of shared mappings, so the child's first touch maps the page.
                touch_kind = _FIRST_TOUCH
        if mapping is not None and file:
            is_new_part = self._add_file_part(image, mapping, address)
            if is_new_part and touch_kind == _AFTER_MUNMAP:
                touch_kind = _FIRST_TOUCH  # Another file, or another part of the file, is mapped at this address now.
        if self.attached_late and touch_kind == _FIRST_TOUCH and self.access.is_present(error_code):
            # The page is older than the recording, and the fault is a copy on write.
            touch_kind = _AFTER_FORK if image in self._forked_images else _REPEATED_TOUCH
        is_fetch = address == ip  # The instruction itself could not be read.
        key = image, ip, place_text, error_code, is_fetch, memory_kind, touch_kind, file
        self._faults[key] = self._faults.get(key, 0) + self.period
        self.recorded += self.period
        self._time_range = (self._time_range[0] or time, time)
        if mapping is not None:
            area = image, mapping.fixed_address, tid
            thread_faults = self._thread_faults.get(area)
            if thread_faults is None:
                thread_faults = self._thread_faults[area] = _ThreadFaults(mapping, first_time=time)
            elif mapping.size > thread_faults.mapping.size:
                thread_faults.mapping = mapping
            thread_faults.faults += self.period
            thread_faults.last_time = time

    def _add_file_part(self, image: int, mapping: MemoryMapping, address: int) -> bool:
        """Record that an image touches a part of a mapped file; return whether it is the first time."""
        part = image, mapping.name, (address - mapping.start + mapping.offset) // _FAULT_AROUND_BYTES
        is_new = part not in self.file_parts
        self.file_parts.add(part)
        return is_new

    def _locate_instruction(self, image: int, ip: int, place: str) -> Instruction:
        """Return the instruction at an address, with its file and its offset in the file."""
        mapping, function = self._modules[image, ip], split_place(place)[0]
        if mapping is None:
            return Instruction(ip, function)
        return Instruction(ip, function, mapping.file, ip - mapping.start + mapping.offset)

    def _convert_touch(self, touch_kind: str) -> Touch:
        """Return the kind of a touch; unknown if only some faults were recorded, unless it was attached late.

        A recording that was attached late does not use earlier faults to recognise first touches, but whether the page
        was present or had been given back.
        """
        return Touch(touch_kind) if self.period == 1 or self.attached_late else Touch.UNKNOWN

    def _add_tracepoint(self, event: Traced) -> None:
        """Add one recorded system call that maps or unmaps memory, or the return of mremap."""
        if event.event == MREMAP_EXIT:
            self._end_remapping(event)
        elif event.event.startswith(ENTRY_PREFIX):
            name = event.event.removeprefix(ENTRY_PREFIX)
            if not _CALL_NAME.fullmatch(name):
                raise FaultwatchError(f"{name[:_MAX_QUOTED_CHARACTERS]!r} is not the name of a system call")
            self.calls[name] += 1
            image = self._get_image(event.pid)
            try:
                arguments = parse_arguments(event.text)
                if name == "brk" and self.attached_late and image not in self._heap_ends:
                    self._record_heap_end(image)
                byte_count = self._get_pages(image).record_call(name, arguments)
                if name == "mremap":
                    self._open_mremaps[event.tid] = arguments
                if name == "madvise":
                    self.advice[_ADVICE.get(arguments["behavior"], "other")] += 1
                if name == "prctl" and arguments["option"] == _FORBIDDING_OPTION and arguments["arg2"]:
                    self.advice[_FORBIDDING_NAME] += 1
                if name == "brk":
                    # The kernel maps whole pages, so round the end up.
                    self._heap_ends[image] = -(-arguments["brk"] // self.page_size) * self.page_size
            except (ScriptError, KeyError) as error:
                raise FaultwatchError(f"a recorded call to {name} cannot be read: {error}") from None
            self._add_populated_bytes(image, name, arguments, byte_count or 0)
            # A call that the kernel refuses is recorded too, and may have any length.
            self._bytes[name] = min(self._bytes[name] + (byte_count or 0), _MAX_BYTES)

    def _add_populated_bytes(self, image: int, name: str, arguments: Mapping[str, int], byte_count: int) -> None:
        """Count the memory that a system call populates, by itself or because mlockall has asked for it."""
        populated_bytes = _count_populated_bytes(name, arguments)
        if name == "mlockall" and arguments["flags"] & _MCL_FUTURE:
            self._locked_images.add(image)
        elif image in self._locked_images and name in {"mmap", "brk"}:
            populated_bytes = byte_count
        self._populated_bytes = min(self._populated_bytes + populated_bytes, _MAX_BYTES)

    def _end_remapping(self, event: Traced) -> None:
        """Move a mapping and its pages to the address that mremap returned; do nothing if the call failed."""
        arguments = self._open_mremaps.pop(event.tid, None)
        try:
            new_start = int(event.text, 16)
        except ValueError:
            raise FaultwatchError(
                f"a recorded result of mremap cannot be read: {event.text[:_MAX_QUOTED_CHARACTERS]!r}"
            ) from None
        if arguments is None or not 0 < new_start < _MAX_ADDRESS:
            return  # The call began before the recording, or the kernel refused it.
        old_start, old_size, new_size = arguments["addr"], arguments["old_len"], arguments["new_len"]
        image = self._get_image(event.pid)
        mappings = self._get_mappings(image)
        mapping = mappings.find(old_start)
        if mapping is None or not old_size:  # With an old size of 0, mremap maps shared memory once more.
            return
        flags = arguments.get("flags", 0)
        if flags & _FIXED:
            self._get_pages(image).record_call("munmap", {"addr": new_start, "len": new_size})
        if not flags & _DONT_UNMAP:
            mappings.remove(old_start, old_start + old_size)
        mappings.add(mapping.move(old_start, new_start, new_size))
        self._get_pages(image).move_pages(old_start, min(old_size, new_size), new_start)

    def _record_heap_end(self, image: int) -> None:
        """Record the end of the heap from its mapping, because the calls that moved it preceded the recording."""
        end = max((mapping.end for mapping in self._get_mappings(image) if mapping.memory is Memory.HEAP), default=0)
        if end:
            self._get_pages(image).record_call("brk", {"brk": end})

    def _create_page_states(self) -> PageStates:
        return LateAttachPageStates(self.page_size) if self.attached_late else PageStates(self.page_size)

    def _begin_image(self, pid: int) -> int:
        """Begin another image of a process; return its number. Of the image before, only the pages are kept."""
        previous_image = self._get_image(pid)
        self._maps.pop(previous_image, None)
        if previous_image in self._pages:
            self._pages[previous_image].end()
        self._last_image -= 1
        self._images[pid] = self._last_image
        return self._last_image

    def _get_image(self, pid: int) -> int:
        """Return the number of the present image of a process."""
        return self._images.get(pid, pid)

    def _get_mappings(self, image: int) -> ProcessMappings:
        return self._maps.setdefault(image, ProcessMappings())

    def _get_pages(self, image: int) -> PageStates:
        return self._pages.get(image) or self._pages.setdefault(image, self._create_page_states())

    def _locate_sites(self, locate: Locate) -> tuple[Site, ...]:
        """Return the places in the source with the most faults, by memory, kind of touch and file."""
        merged_faults: Counter[_Place] = Counter()
        for (image, ip, place_text, _, _, memory_kind, touch_kind, file), faults in self._faults.items():
            merged_faults[image, ip, place_text, Memory(memory_kind), self._convert_touch(touch_kind), file] += faults
        return self._locate_places(merged_faults, locate)

    def _locate_major_sites(self, locate: Locate) -> tuple[Site, ...]:
        """Return the places in the source with the most major faults, by memory and file."""
        merged_faults: Counter[_Place] = Counter()
        for (image, ip, place_text, memory_kind, file), faults in self._major_places.items():
            merged_faults[image, ip, place_text, Memory(memory_kind), Touch.UNKNOWN, file] += faults
        return self._locate_places(merged_faults, locate)

    def _locate_places(self, merged_faults: "Counter[_Place]", locate: Locate) -> tuple[Site, ...]:
        """Return the places with the most faults as sites; places with the same frame and kind are merged."""
        # Look up more places than are returned, because several can have the same source line. ``image`` identifies the
        # process's memory between two executions of programs, and ``ip`` is the address of the instruction.
        leading_places = merged_faults.most_common(_MAX_SITES * 2)
        places = {}
        for (image, ip, place_text, *_), _ in leading_places:
            function, module = split_place(place_text)
            mapping = self._modules[image, ip]
            if mapping is not None and mapping.file:
                places[image, ip, place_text] = CodePlace(mapping.name, ip - mapping.start + mapping.offset, function)
            else:
                places[image, ip, place_text] = CodePlace(module, 0, function)
        frames = locate(places.values())
        sites: Counter[tuple[contract.Frame, Memory, Touch, str]] = Counter()
        for (image, ip, place_text, memory, touch, file), faults in leading_places:
            sites[frames[places[image, ip, place_text]], memory, touch, cut_label(file)] += faults
        return tuple(
            Site(frame=frame, memory=memory, touch=touch, file=file, faults=faults)
            for (frame, memory, touch, file), faults in sites.most_common(_MAX_SITES)
        )

    def _build_areas(self) -> tuple[Area, ...]:
        """Return the memory areas with the most faults."""
        faults_by_area: dict[tuple[int, int], list[_ThreadFaults]] = {}
        for (image, fixed_address, _), faults in self._thread_faults.items():
            faults_by_area.setdefault((image, fixed_address), []).append(faults)
        areas = [self._build_area(image, thread_faults) for (image, _), thread_faults in faults_by_area.items()]
        return tuple(sorted(areas, key=lambda area: -area.faults)[:_MAX_AREAS])

    def _build_area(self, image: int, thread_faults: list[_ThreadFaults]) -> Area:
        """Return one memory area, with the faults of all its threads."""
        # The mapping may have grown between the faults of two threads.
        mapping = max(
            (faults_of_thread.mapping for faults_of_thread in thread_faults), key=lambda mapping: mapping.size
        )
        return Area(
            memory=mapping.memory,
            name=cut_label(mapping.file),
            size=mapping.size,
            faults=sum(faults_of_thread.faults for faults_of_thread in thread_faults),
            pages=self._pages[image].count_pages(mapping.start, mapping.end),
            threads=len(thread_faults),
            seconds=max(
                0.0,
                max(faults_of_thread.last_time for faults_of_thread in thread_faults)
                - min(faults_of_thread.first_time for faults_of_thread in thread_faults),
            ),
        )


def _count_populated_bytes(name: str, arguments: Mapping[str, int]) -> int:
    """Return how many bytes of memory a system call provides at once, without a fault for each page."""
    if name == "mmap":
        return arguments["len"] if arguments["flags"] & (_MAP_POPULATE | _MAP_LOCKED) else 0
    if name == "madvise":
        return arguments["len_in"] if arguments["behavior"] in _POPULATING_ADVICE else 0
    if name in {"mlock", "mlock2"}:
        return 0 if arguments.get("flags", 0) & _MLOCK_ONFAULT else arguments["len"]
    return 0


def merge_small_files(
    kinds: Mapping[tuple[Memory, Touch, str], int], max_files: int = _MAX_FILES
) -> tuple[FaultKind, ...]:
    """Return the faults of each kind; the files with the fewest faults are merged into one without a name.

    At most ``max_files`` keep their names, or fewer if there would be more kinds than the contract allows.
    """
    sums: Counter[str] = Counter()
    for (_, _, file), number in kinds.items():
        sums[file] += number
    large_files = {file for file, _ in sums.most_common(max_files)}
    merged_faults: Counter[tuple[Memory, Touch, str]] = Counter()
    for (memory, touch, file), number in kinds.items():
        merged_faults[memory, touch, cut_label(file) if file in large_files else ""] += number
    if len(merged_faults) > _MAX_KINDS:
        return merge_small_files(kinds, max_files // 2)
    return tuple(
        FaultKind(memory=memory, touch=touch, file=file, faults=number)
        for (memory, touch, file), number in merged_faults.most_common()
    )
