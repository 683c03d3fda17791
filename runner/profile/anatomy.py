"""Classifies each recorded fault by memory, touch, access and place, and counts system calls."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract import profile as contract
from runner.contract.profile import Access, Anatomy, Area, Call, Census, Memory, Site, Touch
from runner.errors import FaultwatchError
from runner.profile.fault_access import FaultAccess, Instruction
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings
from runner.profile.page_states import JoinedPageStates, PageStates
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
"""Finds the source lines of all places at once."""

_MAX_SITES = 200
_MAX_AREAS = 20
_ENTRY_PREFIX = "syscalls:sys_enter_"
_OTHER_MEMORY = Memory.OTHER.value
_FIRST_TOUCH, _REPEATED_TOUCH = Touch.FIRST.value, Touch.AGAIN.value
_CALL_NAME = re.compile(r"[a-z0-9_]{1,100}")
_MAX_BYTES = 2**64
"""Bytes that a census can name."""


class CodePlace(Struct, frozen=True):
    """A place in the code of a program: an offset in a module, and its function as perf names it."""

    module: str
    offset: int
    function: str


class _Stretch(Struct):
    """The faults of one thread in one mapping."""

    mapping: MemoryMapping
    faults: int = 0
    first: float = 0.0
    last: float = 0.0


class Dissection(Struct):
    """Collects the events of one recording, in the order of time.

    Attributes
    ----------
    period
        The number of faults for which one fault was recorded.
    page_size
        Bytes of a page of the kernel that made the recording.
    access
        Determines how memory was accessed, on the architecture of the recording.
    joined
        Whether the processes are older than the recording, so that pages may have been touched before.
    """

    period: int
    page_size: int
    access: FaultAccess
    joined: bool = False
    lost: int = 0
    recorded: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    _bytes: Counter[str] = field(default_factory=Counter)
    _maps: dict[int, ProcessMappings] = field(default_factory=dict)
    _pages: dict[int, PageStates] = field(default_factory=dict)
    _major: Counter[Memory] = field(default_factory=Counter)
    # Updated at each fault; the tables are derived from these only at the end.
    _faults: dict[tuple[int, int, str, int | None, bool, str, str], int] = field(default_factory=dict)
    _modules: dict[tuple[int, int], MemoryMapping | None] = field(default_factory=dict)
    _stretches: dict[tuple[int, int, int], _Stretch] = field(default_factory=dict)
    _breaks: dict[int, int] = field(default_factory=dict)
    """The requested end of each process's heap, in whole pages."""
    _span: tuple[float, float] = (0.0, 0.0)

    def add_events(self, events: Iterable[Event]) -> None:
        """Add recorded events.

        Raises
        ------
        FaultwatchError
            A system call lacks an argument, or has no name.
        """
        for event in events:
            match event:
                case Fault():
                    self._add_fault(event)
                case Traced():
                    self._add_tracepoint(event)
                case Mapped():
                    mapping = MemoryMapping.from_event(event)
                    # The kernel names the heap only after it has grown.
                    if mapping.end == self._breaks.get(event.pid) and mapping.memory is Memory.ANONYMOUS:
                        mapping = replace(mapping, memory=Memory.HEAP, kind=Memory.HEAP.value)
                    self._get_mappings(event.pid).add(mapping)
                case Forked() if event.pid != event.parent:
                    self._maps[event.pid] = self._get_mappings(event.parent).copy()
                case Executed():
                    self._maps[event.pid] = ProcessMappings()
                    self._pages[event.pid] = self._create_page_states()
                case Lost():
                    self.lost += event.number

    def add_calls(self, events: Iterable[Event]) -> None:
        """Add the system calls of another recording of the same execution.

        Its own records of program starts and mappings are ignored, because they would mix with those of the recorded
        faults.
        """
        apart = Dissection(self.period, self.page_size, self.access)
        apart.add_events(events)
        self.calls.update(apart.calls)
        self._bytes.update(apart._bytes)
        self.lost += apart.lost

    def build_anatomy(self, counted: int, locate: Locate) -> Anatomy:
        """Build the anatomy, whose tables add up to the counted faults."""
        counted = max(counted, self.recorded)
        unplaced = counted - self.recorded
        memory, touch, access = Counter({Memory.OTHER: unplaced}), Counter({Touch.UNKNOWN: unplaced}), Counter[Access]()
        access[Access.UNKNOWN] = unplaced
        for (pid, ip, place, code, at_ip, kind, how), number in self._faults.items():
            memory[Memory(kind)] += number
            touch[self._convert_touch(how)] += number
            instruction = self._locate_instruction(pid, ip, place)
            access[self.access.classify(code, instruction, fetched=at_ip)] += number
        sites = self._locate_sites(locate)
        return Anatomy(
            counted=counted,
            recorded=self.recorded,
            period=self.period,
            lost=self.lost,
            unplaced=unplaced,
            major=self._major.total(),
            pages=sum(len(pages) for pages in self._pages.values()),
            by_memory=dict((+memory).most_common()),
            by_touch=dict((+touch).most_common()),
            by_access=dict((+access).most_common()),
            major_by_memory=dict(self._major.most_common()),
            sites=sites,
            elsewhere=counted - sum(site.faults for site in sites),
            areas=self._build_areas(),
            seconds=max(0.0, self._span[1] - self._span[0]),
        )

    def build_census(self) -> Census:
        """Return the number of calls and the bytes of each system call."""
        names = sorted(self.calls)
        return Census(
            source="tracepoints", calls={name: Call(calls=self.calls[name], bytes=self._bytes[name]) for name in names}
        )

    def _add_fault(self, event: Fault) -> None:
        """Add one recorded fault: its memory, its page's history, and its place in the program."""
        pid, tid, time, name, address, ip, place, code = event
        mapping = self._get_mappings(pid).find(address)
        if name == "major-faults":
            self._major[mapping.memory if mapping else Memory.OTHER] += 1
            return
        pages = self._pages.get(pid) or self._pages.setdefault(pid, self._create_page_states())
        kind = mapping.kind if mapping else _OTHER_MEMORY
        how = pages.record_fault(address // self.page_size)
        if self.joined and how == _FIRST_TOUCH and self.access.is_present(code):
            how = _REPEATED_TOUCH
        key = pid, ip, place, code, address == ip, kind, how
        self._faults[key] = self._faults.get(key, 0) + self.period
        self.recorded += self.period
        if (pid, ip) not in self._modules:
            self._modules[pid, ip] = self._get_mappings(pid).find(ip)
        self._span = (self._span[0] or time, time)
        if mapping is not None:
            stretch = self._stretches.get((pid, mapping.start, tid))
            if stretch is None:
                stretch = self._stretches[pid, mapping.start, tid] = _Stretch(mapping, first=time)
            elif mapping.end > stretch.mapping.end:
                stretch.mapping = mapping
            stretch.faults += self.period
            stretch.last = time

    def _locate_instruction(self, pid: int, ip: int, place: str) -> Instruction:
        """Return an instruction with its file and its offset there."""
        mapping, function = self._modules[pid, ip], split_place(place)[0]
        if mapping is None:
            return Instruction(ip, function)
        return Instruction(ip, function, mapping.file, ip - mapping.start + mapping.offset)

    def _convert_touch(self, how: str) -> Touch:
        """Return the kind of a touch; unknown if not every fault was recorded, unless what was given back decides."""
        return Touch(how) if self.period == 1 or self.joined else Touch.UNKNOWN

    def _add_tracepoint(self, event: Traced) -> None:
        """Add one recorded system call that maps or unmaps memory."""
        if event.event.startswith(_ENTRY_PREFIX):
            name = event.event.removeprefix(_ENTRY_PREFIX)
            if not _CALL_NAME.fullmatch(name):
                raise FaultwatchError(f"{name[:100]!r} is not the name of a system call")
            self.calls[name] += 1
            try:
                arguments = parse_arguments(event.text)
                if name == "brk" and self.joined and event.pid not in self._breaks:
                    self._find_heap_end(event.pid)
                size = self._pages.setdefault(event.pid, self._create_page_states()).record_call(name, arguments)
                if name == "brk":
                    self._breaks[event.pid] = -(-arguments["brk"] // self.page_size) * self.page_size
            except (ScriptError, KeyError) as error:
                raise FaultwatchError(f"a recorded call of {name} cannot be read: {error}") from None
            # A call that the kernel refuses is recorded too, with any length.
            self._bytes[name] = min(self._bytes[name] + (size or 0), _MAX_BYTES)

    def _find_heap_end(self, pid: int) -> None:
        """Take the end of the heap from its mapping, where the calls that made it were before the recording."""
        end = max((mapping.end for mapping in self._get_mappings(pid) if mapping.memory is Memory.HEAP), default=0)
        if end:
            self._pages.setdefault(pid, self._create_page_states()).record_call("brk", {"brk": end})

    def _create_page_states(self) -> PageStates:
        return JoinedPageStates(self.page_size) if self.joined else PageStates(self.page_size)

    def _get_mappings(self, pid: int) -> ProcessMappings:
        return self._maps.setdefault(pid, ProcessMappings())

    def _locate_sites(self, locate: Locate) -> tuple[Site, ...]:
        """Return the places in the source that fault most, by memory and kind of touch."""
        merged: Counter[tuple[int, int, str, Memory, Touch]] = Counter()
        for (pid, ip, text, _, _, kind, how), number in self._faults.items():
            merged[pid, ip, text, Memory(kind), self._convert_touch(how)] += number
        common = merged.most_common(_MAX_SITES * 2)
        places = {}
        for (pid, ip, text, _, _), _ in common:
            function, module = split_place(text)
            mapping = self._modules[pid, ip]
            if mapping is not None and mapping.file:
                places[pid, ip, text] = CodePlace(mapping.name, ip - mapping.start + mapping.offset, function)
            else:
                places[pid, ip, text] = CodePlace(module, 0, function)
        frames = locate(places.values())
        sites: Counter[tuple[contract.Frame, Memory, Touch]] = Counter()
        for (pid, ip, text, memory, touch), number in common:
            sites[frames[places[pid, ip, text]], memory, touch] += number
        return tuple(
            Site(frame=frame, memory=memory, touch=touch, faults=number)
            for (frame, memory, touch), number in sites.most_common(_MAX_SITES)
        )

    def _build_areas(self) -> tuple[Area, ...]:
        """Return the memory areas with the most faults."""
        together: dict[tuple[int, int], list[_Stretch]] = {}
        for (pid, start, _), stretch in self._stretches.items():
            together.setdefault((pid, start), []).append(stretch)
        areas = [self._build_area(pid, threads) for (pid, _), threads in together.items()]
        return tuple(sorted(areas, key=lambda area: -area.faults)[:_MAX_AREAS])

    def _build_area(self, pid: int, threads: list[_Stretch]) -> Area:
        """Return one memory area with the faults of all threads in it."""
        mapping = max((thread.mapping for thread in threads), key=lambda mapping: mapping.end)
        return Area(
            memory=mapping.memory,
            name=mapping.file[:4000],
            size=mapping.end - mapping.start,
            faults=sum(thread.faults for thread in threads),
            pages=self._pages[pid].count_pages(mapping.start, mapping.end),
            threads=len(threads),
            seconds=max(0.0, max(thread.last for thread in threads) - min(thread.first for thread in threads)),
        )
