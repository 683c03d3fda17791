"""Recorded events → what each fault hit, why and where."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.profile import Access, Frame, Memory, Touch
from runner.profile.anatomy import AnatomyBuilder, CodePlace
from runner.profile.fault_access import FaultAccess
from runner.profile.page_states import PageStates
from runner.profile.script_parser import Event, Executed, Fault, Forked, Lost, Mapped, Traced, parse_script

RECORDED = Path(__file__).parent / "recorded"
PAGE = 4096
HERE = "main+0x10 (/srv/build/program)"


STACK_START = 0x7FFF_0000_0000


def named(places: Iterable[CodePlace]) -> dict[CodePlace, Frame]:
    return {place: Frame(function=place.function, module=place.module) for place in places}


def fault(address: int, *, pid: int = 1, tid: int = 1, time: float = 1.0, code: int | None = 6) -> Fault:
    return Fault(pid, tid, time, "page-faults", address, 0x400010, HERE, code)


def call(name: str, arguments: str, pid: int = 1) -> Traced:
    return Traced(pid, pid, 1.0, f"syscalls:sys_enter_{name}", arguments)


def mapped(start: int, pages: int, name: str = "//anon", protection: str = "rw-p", pid: int = 1) -> Mapped:
    return Mapped(pid, start, pages * PAGE, 0, protection, name)


def dissected(events: Iterable[Event], period: int = 1, page: int = PAGE, machine: str = "x86_64") -> AnatomyBuilder:
    dissection = AnatomyBuilder(period, page, FaultAccess(machine))
    dissection.add_events(events)
    return dissection


@dataclass(frozen=True)
class RecordedHost:
    """A recording of ``again.c`` on one architecture, with the instructions that faulted if they show the access."""

    machine: str
    page: int
    faults: int
    after_munmap: int
    madvise: int
    kinds: frozenset[Memory] = frozenset({Memory.ANONYMOUS, Memory.FILE_TEXT, Memory.FILE_DATA})

    def dissected(self, page: int = 0) -> AnatomyBuilder:
        name = "" if self.machine == "x86_64" else f"-{self.machine}-{self.page >> 10}k"
        words = RECORDED / f"instructions{name}.json"
        instructions = json.loads(words.read_text()) if words.exists() else {}
        access = FaultAccess(self.machine, lambda file, offset: int(instructions[f"{file}+{offset:#x}"], 16))
        dissection = AnatomyBuilder(1, page or self.page, access)
        dissection.add_events(parse_script((RECORDED / f"faults{name}.txt").read_text().splitlines(keepends=True)))
        return dissection


HOSTS = [
    # The thread that ends advises its stack away as well; in the last two its first page lies where one was unmapped.
    RecordedHost("x86_64", 4096, faults=102, after_munmap=16, madvise=4),
    RecordedHost("aarch64", 4096, faults=95, after_munmap=17, madvise=4),
    RecordedHost("aarch64", 65536, faults=79, after_munmap=17, madvise=4),
]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: f"{host.machine}-{host.page}")
def test_a_real_recording_comes_to_its_faults(host: RecordedHost) -> None:
    found = host.dissected()
    anatomy = found.build_anatomy(host.faults, named)
    assert anatomy.counted == anatomy.recorded == host.faults
    # Three rounds of eight pages: touched, advised away, touched again, unmapped.
    assert anatomy.by_touch[Touch.AFTER_MADVISE] == 24
    assert anatomy.by_touch[Touch.AFTER_MUNMAP] == host.after_munmap
    assert anatomy.unrecorded == 0
    assert host.kinds <= anatomy.by_memory.keys()
    assert Access.UNKNOWN not in anatomy.by_access
    assert anatomy.by_access[Access.WRITE] >= 48
    assert anatomy.sites[0].frame.function == "main"  # into which touch was inlined
    assert found.build_census().calls["madvise"].calls == host.madvise


def test_pages_of_another_size_are_other_pages() -> None:
    large = next(host for host in HOSTS if host.page == 65536)
    right, wrong = (large.dissected(page).build_anatomy(large.faults, named) for page in (65536, 4096))
    assert right.pages < wrong.pages


def test_memory_is_told_by_its_mapping_at_the_time() -> None:
    events = [
        mapped(0x10000, 1),
        fault(0x10000),
        mapped(0x10000, 1, "/srv/data", "r--p"),
        fault(0x10001, code=4),
        mapped(0x10000, 1, "/usr/lib/libc.so.6", "r-xp"),
        fault(0x10002, code=0x14),
        mapped(0x10000, 1, "/dev/zero (deleted)", "rw-s"),
        fault(0x10003),
        fault(0x90000),
    ]
    anatomy = dissected(events).build_anatomy(5, named)
    kinds = (Memory.ANONYMOUS, Memory.FILE_DATA, Memory.FILE_TEXT, Memory.SHARED, Memory.OTHER)
    assert anatomy.by_memory == dict.fromkeys(kinds, 1)
    assert anatomy.by_access == {Access.WRITE: 3, Access.READ: 1, Access.INSTRUCTION: 1}


def test_the_heap_is_known_by_brk_before_the_kernel_names_it() -> None:
    events = [call("brk", "brk: 0x00000000"), call("brk", "brk: 0x00021000"), mapped(0x10000, 0x11), fault(0x11000)]
    assert dissected(events).build_anatomy(1, named).by_memory == {Memory.HEAP: 1}


def test_a_shrinking_heap_gives_its_end_back() -> None:
    events = [
        call("brk", "brk: 0x00030000"),
        mapped(0x10000, 0x20, "[heap]"),
        fault(0x10000),
        fault(0x2F000),
        call("brk", "brk: 0x00020000"),
        call("brk", "brk: 0x00030000"),
        fault(0x10000),
        fault(0x2F000),
    ]
    touched = dissected(events).build_anatomy(4, named).by_touch
    assert touched == {Touch.FIRST: 2, Touch.AGAIN: 1, Touch.AFTER_BRK: 1}


def test_advice_that_takes_nothing_is_no_giving_back() -> None:
    events = [fault(0x10000), call("madvise", "start: 0x10000, len_in: 0x1000, behavior: 0x0000000e"), fault(0x10000)]
    assert dissected(events).build_anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AGAIN: 1}


def test_processes_have_their_own_pages_and_inherit_mappings() -> None:
    events = [
        mapped(0x10000, 4),
        fault(0x10000),
        Forked(2, 1),
        fault(0x10000, pid=2, tid=2),
        Executed(2),
        fault(0x10000, pid=2, tid=2),
    ]
    anatomy = dissected(events).build_anatomy(3, named)
    assert anatomy.by_touch == {Touch.FIRST: 2, Touch.AFTER_FORK: 1}
    assert anatomy.by_memory == {Memory.ANONYMOUS: 2, Memory.OTHER: 1}


def test_pages_and_areas_of_a_program_that_executed_another_count_as_well() -> None:
    events: list[Event] = []
    for _ in range(3):
        events += [Executed(1), mapped(0x10000, 4), *(fault(0x10000 + page * PAGE) for page in range(4))]
    anatomy = dissected(events).build_anatomy(12, named)
    assert anatomy.by_touch == {Touch.FIRST: 12}
    assert (anatomy.pages, anatomy.refault_ratio) == (12, 1.0)
    assert [(area.faults, area.pages) for area in anatomy.areas] == [(4, 4)] * 3


def test_pages_of_an_ended_process_count_if_its_number_is_used_again() -> None:
    events: list[Event] = [mapped(0x10000, 4)]
    for _ in range(3):
        events += [Forked(2, 1), fault(0x10000, pid=2, tid=2)]
    anatomy = dissected(events).build_anatomy(3, named)
    assert (anatomy.pages, anatomy.by_touch) == (3, {Touch.FIRST: 3})


def test_code_of_the_next_program_at_the_same_address_is_in_its_own_file() -> None:
    events: list[Event] = []
    for name in ("/bin/sh", "/srv/server"):
        events += [
            Executed(1),
            mapped(0x400000, 4, name, "r-xp"),
            mapped(0x10000, 4),
            fault(0x10000)._replace(place=f"main+0x10 ({name})"),
        ]
    sites = dissected(events).build_anatomy(2, named).sites
    assert {site.frame.module for site in sites} == {"/bin/sh", "/srv/server"}


def test_the_end_of_the_heap_is_forgotten_with_the_program() -> None:
    events = [call("brk", "brk: 0x14000"), Executed(1), mapped(0x10000, 4), fault(0x10000)]
    assert dissected(events).build_anatomy(1, named).by_memory == {Memory.ANONYMOUS: 1}


def test_both_sides_of_a_fork_touch_shared_pages_and_new_ones_for_the_first_time() -> None:
    events = [
        mapped(0x10000, 8),
        fault(0x10000),
        fault(0x11000),
        fault(0x12000),
        call("madvise", "start: 0x12000, len_in: 0x1000, behavior: 0x00000004"),
        Forked(2, 1),
        fault(0x10000),
        fault(0x10000, pid=2, tid=2),
        fault(0x12000),
        fault(0x12000, pid=2, tid=2),
        fault(0x14000, pid=2, tid=2),
    ]
    anatomy = dissected(events).build_anatomy(8, named)
    # The page that was returned before the fork is shared by nobody.
    assert anatomy.by_touch == {Touch.FIRST: 5, Touch.AFTER_FORK: 2, Touch.AFTER_MADVISE: 1}
    assert anatomy.forks == 1


def test_a_shared_page_that_the_child_unmaps_is_touched_after_munmap() -> None:
    unmapped = call("munmap", "addr: 0x10000, len: 0x1000")._replace(pid=2)
    events = [mapped(0x10000, 8), fault(0x10000), Forked(2, 1), unmapped, fault(0x10000, pid=2, tid=2)]
    assert dissected(events).build_anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AFTER_MUNMAP: 1}


def test_a_thread_is_no_fork() -> None:
    events = [mapped(0x10000, 8), fault(0x10000), Forked(1, 1), fault(0x10000)]
    assert dissected(events).build_anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AGAIN: 1}


def test_kinds_name_the_files_that_were_touched() -> None:
    events = [
        mapped(0x10000, 1, "/srv/data", "r--p"),
        fault(0x10000, code=4),
        mapped(0x20000, 1, "/srv/index", "r--p"),
        fault(0x20000, code=4),
        mapped(0x30000, 1),
        fault(0x30000),
    ]
    anatomy = dissected(events).build_anatomy(4, named)
    assert {(kind.memory, kind.file): kind.faults for kind in anatomy.kinds} == {
        (Memory.FILE_DATA, "/srv/data"): 1,
        (Memory.FILE_DATA, "/srv/index"): 1,
        (Memory.ANONYMOUS, ""): 1,
        (Memory.OTHER, ""): 1,
    }
    assert {site.file for site in anatomy.sites} == {"/srv/data", "/srv/index", ""}


def test_more_kinds_of_faults_than_a_profile_may_contain_are_merged_by_file() -> None:
    files = [
        (0x1000000 + index * 0x10000, f"/srv/{index // 2}", "r-xp" if index % 2 else "r--p") for index in range(202)
    ]
    events: list[Event] = []
    for start, file, protection in files:
        area = f"{start:#x}, len{{}}: {PAGE:#x}"
        events += [mapped(start, 1, file, protection), fault(start), fault(start)]
        events += [call("madvise", f"start: {area.format('_in')}, behavior: 0x4"), fault(start)]
        events += [call("munmap", f"addr: {area.format('')}"), mapped(start, 1, file, protection), fault(start)]
    events += [Forked(2, 1), *(fault(start) for start, _, _ in files), mapped(0x10000, 1), fault(0x10000)]
    anatomy = dissected(events).build_anatomy(0, named)
    assert len(anatomy.by_touch) == 5
    assert 500 < len(anatomy.kinds) <= 1000
    assert sum(kind.faults for kind in anatomy.kinds) == 5 * 202 + 1


@pytest.mark.parametrize("behavior", ["0x4", "0x8", "0x15", "0x18", "0x66"])
def test_advice_that_takes_pages_gives_them_back(behavior: str) -> None:
    events = [fault(0x10000), call("madvise", f"start: 0x10000, len_in: 0x1000, behavior: {behavior}"), fault(0x10000)]
    assert dissected(events).build_anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AFTER_MADVISE: 1}
    assert "other" not in dissected(events).build_census().advice


def test_advice_is_counted_by_its_name() -> None:
    advise = "start: 0x10000, len_in: 0x1000, behavior: {}"
    events = [call("madvise", advise.format(word)) for word in ("0x1", "0x1", "0x4", "0x63")]
    census = dissected(events).build_census()
    assert census.advice == {"MADV_RANDOM": 2, "MADV_DONTNEED": 1, "other": 1}


def test_a_program_that_forbids_itself_huge_pages_is_known() -> None:
    events = [
        call("prctl", "option: 0x29, arg2: 0x1, arg3: 0x0"),
        call("prctl", "option: 0xf, arg2: 0x7ffd, arg3: 0x0"),
    ]
    assert dissected(events).build_census().advice == {"PR_SET_THP_DISABLE": 1}


def test_what_was_lost_is_stated_and_the_tables_still_come_to_the_count() -> None:
    anatomy = dissected([mapped(0x10000, 4), fault(0x10000), Lost(9)]).build_anatomy(10, named)
    assert (anatomy.counted, anatomy.recorded, anatomy.unrecorded, anatomy.lost) == (10, 1, 9, 9)
    assert anatomy.by_touch == {Touch.UNKNOWN: 9, Touch.FIRST: 1}
    assert anatomy.faults_at_other_sites == 9


def test_one_fault_in_many_says_nothing_of_first_touches() -> None:
    anatomy = dissected([mapped(0x10000, 4), fault(0x10000), fault(0x11000)], period=5).build_anatomy(11, named)
    assert anatomy.by_touch == {Touch.UNKNOWN: 11}
    assert anatomy.refault_ratio is None


def test_a_major_fault_stands_for_as_many_as_any_other() -> None:
    major = fault(0x10000)._replace(event="major-faults")
    anatomy = dissected([mapped(0x10000, 4), fault(0x10000), major], period=5).build_anatomy(11, named)
    assert (anatomy.major, anatomy.major_by_memory) == (5, {Memory.ANONYMOUS: 5})
    assert [site.faults for site in anatomy.major_sites] == [5]


def test_calls_that_were_recorded_apart_leave_the_pages_as_they_are() -> None:
    # perf attaches to both recordings before the program begins.
    begin: list[Event] = [Executed(1), mapped(0x10000, 4)]
    found = dissected([*begin, fault(0x10000), fault(0x11000), Lost(2)], period=10)
    found.add_calls([*begin, call("munmap", "addr: 0x10000, len: 0x4000"), Lost(3)])
    anatomy = found.build_anatomy(20, named)
    assert anatomy.pages == 2
    assert [(area.faults, area.pages) for area in anatomy.areas] == [(20, 2)]
    assert anatomy.lost == 5
    assert (found.build_census().calls["munmap"].calls, found.build_census().calls["munmap"].bytes) == (1, 0x4000)


def test_an_area_knows_its_threads_and_pages() -> None:
    events = [mapped(0x10000, 16), *(fault(0x10000 + page * PAGE, tid=page % 3, time=page) for page in range(9))]
    (area,) = dissected(events).build_anatomy(9, named).areas
    assert (area.threads, area.pages, area.faults, area.seconds) == (3, 9, 9, 8)


steps = st.one_of(
    st.integers(0, 40).map(lambda page: fault(page * PAGE)),
    st.tuples(st.integers(0, 40), st.integers(1, 20), st.sampled_from(["//anon", "[heap]", "/srv/data"])).map(
        lambda found: mapped(found[0] * PAGE, found[1], found[2])
    ),
    st.tuples(st.integers(0, 40), st.integers(0, 20)).map(
        lambda found: call("munmap", f"addr: {found[0] * PAGE:#x}, len: {found[1] * PAGE:#x}")
    ),
)


@given(st.lists(steps, max_size=60), st.integers(0, 5))
def test_sums_are_exact_whatever_happened(events: list[Event], more: int) -> None:
    faults = sum(isinstance(event, Fault) for event in events)
    anatomy = dissected(events).build_anatomy(faults + more, named)  # the contract refuses tables that do not add up
    assert anatomy.unrecorded == more
    assert anatomy.pages == len({event.address // PAGE for event in events if isinstance(event, Fault)})


def test_giving_back_a_vast_range_is_as_quick_as_what_was_touched() -> None:
    pages = PageStates(PAGE)
    pages.record_fault(7)
    pages.record_call("munmap", {"addr": 0, "len": 1 << 60})
    assert pages.record_fault(7) == Touch.AFTER_MUNMAP


def memories(*events: Event, address: int) -> Memory:
    """Return the memory of a fault at an address after some events."""
    (memory,) = dissected([*events, fault(address)]).build_anatomy(1, named).by_memory
    return memory


STACK_BASE, ARENA = 0x7F00_1000_0000, 64 << 20


def reserved(start: int, pages: int) -> Mapped:
    return mapped(start, pages, protection="---p")


def test_static_data_is_known_by_the_data_of_its_file_below_it() -> None:
    program = "/src/prog"
    text, data = mapped(0x40_0000, 4, program, "r-xp"), mapped(0x40_4000, 2, program)
    static_data, elsewhere = mapped(0x40_6000, 9), mapped(0x40_7000, 9)
    assert memories(text, data, static_data, address=0x40_6000) is Memory.STATIC
    assert memories(text, data, static_data, address=0x40_5000) is Memory.FILE_DATA
    # Memory that the program maps is not static data: elsewhere, later, or behind a file that has no code.
    assert memories(text, data, elsewhere, address=0x40_7000) is Memory.ANONYMOUS
    assert memories(text, data, mapped(0x90_0000, 1), static_data, address=0x40_6000) is Memory.ANONYMOUS
    assert memories(data, static_data, address=0x40_6000) is Memory.ANONYMOUS


def test_the_stack_of_the_program_grows_downwards_in_one_area() -> None:
    stack = mapped(STACK_START, 33, "[stack]")
    pages = [STACK_START + 8 * PAGE, *(STACK_START - number * PAGE for number in (1, 2, 400, 3))]
    library = mapped(0x7F00_0000_0000, 9, "/usr/lib/libc.so.6")
    anatomy = dissected([library, stack, *map(fault, pages)]).build_anatomy(0, named)
    assert anatomy.by_memory == {Memory.STACK: 5}
    (area,) = anatomy.areas
    assert (area.faults, area.pages, area.size) == (5, 5, 433 * PAGE)
    assert memories(stack, address=STACK_START - (1 << 40)) is Memory.OTHER, "so far it cannot grow"


def test_the_stack_of_a_thread_is_known_by_the_guard_below_it() -> None:
    reservation = reserved(STACK_BASE, 2049)
    stack = mapped(STACK_BASE + PAGE, 2048)
    assert memories(reservation, stack, address=STACK_BASE + 2000 * PAGE) is Memory.STACK
    # As perf lists the mappings of a process that runs already.
    assert memories(reserved(STACK_BASE, 1), stack, address=STACK_BASE + 9 * PAGE) is Memory.STACK
    assert memories(stack, address=STACK_BASE + 9 * PAGE) is Memory.ANONYMOUS
    # What is far above the beginning of a range without access is no stack.
    assert memories(reservation, mapped(STACK_BASE + 99 * PAGE, 9), address=STACK_BASE + 99 * PAGE) is Memory.ANONYMOUS


def test_a_stack_is_known_when_its_end_becomes_a_guard() -> None:
    stack, guard = mapped(STACK_BASE, 256), reserved(STACK_BASE, 4)
    assert memories(stack, guard, address=STACK_BASE + 200 * PAGE) is Memory.STACK
    # The JVM takes the pages of the guard once more before.
    assert memories(stack, mapped(STACK_BASE, 4), guard, address=STACK_BASE + 200 * PAGE) is Memory.STACK
    # A range without access where nothing was guards nothing.
    above = mapped(STACK_BASE + 4 * PAGE, 256)
    assert memories(above, guard, address=STACK_BASE + 200 * PAGE) is Memory.ANONYMOUS
    assert memories(above, guard, guard, address=STACK_BASE + 200 * PAGE) is Memory.ANONYMOUS
    assert memories(stack, reserved(STACK_BASE, 99), address=STACK_BASE + 200 * PAGE) is Memory.ANONYMOUS


def test_an_arena_begins_a_reserved_range_of_64_mib_and_grows() -> None:
    start = 5 * ARENA
    reservation, first, grown = reserved(start - 9 * PAGE, 32768), mapped(start, 33), mapped(start, 4000)
    assert memories(reservation, first, address=start) is Memory.ARENA
    assert memories(reservation, first, grown, address=start + 3999 * PAGE) is Memory.ARENA
    # Go's runtime takes 4 MiB of what it reserved.
    assert memories(reservation, mapped(start, 1024), address=start) is Memory.ANONYMOUS
    assert memories(first, address=start) is Memory.ANONYMOUS


def test_a_write_after_reads_of_new_memory_is_no_second_touch_of_data() -> None:
    read, write = 4, 7  # error codes
    events = [
        mapped(0x10000, 8),
        fault(0x10000, code=read),
        fault(0x10000, code=write),
        fault(0x10000, code=write),
        # A page with data is read again: it is no page of zeros.
        fault(0x10000, code=read),
        fault(0x10000, code=write),
    ]
    touches = {Touch.FIRST: 1, Touch.AFTER_READ: 1, Touch.AGAIN: 3}
    assert dissected(events).build_anatomy(5, named).by_touch == touches
    of_file = [mapped(0x10000, 8, "/srv/data"), fault(0x10000, code=read), fault(0x10000, code=write)]
    assert dissected(of_file).build_anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AGAIN: 1}
    returned = call("madvise", "start: 0x10000, len_in: 0x1000, behavior: 0x00000004")
    again = [*events[:2], returned, fault(0x10000, code=write)]
    assert dissected(again).build_anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AFTER_MADVISE: 1}


def test_threads_that_start_are_counted_and_those_before_the_recording_are_not() -> None:
    before, after = [Forked(1, 1)] * 3, [Forked(1, 1)] * 2
    anatomy = dissected([*before, mapped(0x10000, 8), fault(0x10000), *after, Forked(2, 1)]).build_anatomy(1, named)
    assert (anatomy.threads, anatomy.forks) == (2, 1)


def test_each_process_touches_shared_memory_first_and_its_pages_are_counted_once() -> None:
    shared = mapped(0x10000, 8, "/dev/zero (deleted)", "rw-s")
    events = [shared, fault(0x10000), fault(0x11000), Forked(2, 1), *(fault(0x10000, pid=pid) for pid in (2, 2))]
    anatomy = dissected(events).build_anatomy(4, named)
    # A fork copies no tables of shared mappings.
    assert anatomy.by_touch == {Touch.FIRST: 3, Touch.AGAIN: 1}
    assert anatomy.by_memory == {Memory.SHARED: 4}
    assert anatomy.shared_pages == 2


def test_another_file_where_one_was_unmapped_is_touched_for_the_first_time() -> None:
    unmapped = call("munmap", "addr: 0x10000, len: 0x8000")
    one, other = mapped(0x10000, 8, "/srv/one"), mapped(0x10000, 8, "/srv/other")
    events = [one, fault(0x10000), unmapped, other, fault(0x10000), unmapped, one, fault(0x10000)]
    assert dissected(events).build_anatomy(3, named).by_touch == {Touch.FIRST: 2, Touch.AFTER_MUNMAP: 1}
    later = Mapped(1, 0x10000, 8 * PAGE, 1 << 20, "r--p", "/srv/one")
    events = [one, fault(0x10000), unmapped, later, fault(0x10000)]
    assert dissected(events).build_anatomy(2, named).by_touch == {Touch.FIRST: 2}


def test_a_part_of_a_file_that_faulted_in_an_earlier_recording_is_mapped_again() -> None:
    """Of sampled faults, hardly any is on the same part as another: the recording of all faults says which are."""
    unmapped = call("munmap", "addr: 0x10000, len: 0x8000")
    parts = [Mapped(1, 0x10000, 8 * PAGE, number << 20, "r--p", "/srv/one") for number in range(4)]
    whole = dissected([event for part in parts for event in (part, fault(0x10000), unmapped)])
    sampled = AnatomyBuilder(100, PAGE, FaultAccess("x86_64"), attached_late=True, file_parts=whole.file_parts)
    sampled.add_events([unmapped, parts[2], fault(0x10000)])
    assert sampled.build_anatomy(0, named).by_touch == {Touch.AFTER_MUNMAP: 100}


def test_processes_that_began_in_different_recordings_are_not_taken_for_each_other() -> None:
    whole = dissected([Forked(7, 1), mapped(0x10000, 8, "/srv/one", pid=7), fault(0x10000, pid=7)])
    sampled = AnatomyBuilder(100, PAGE, FaultAccess("x86_64"), attached_late=True, file_parts=whole.file_parts)
    other: list[Event] = [mapped(0x10000, 8, "/srv/two", pid=8), fault(0x10000, pid=8)]
    unmapped = call("munmap", "addr: 0x10000, len: 0x8000", pid=8)
    sampled.add_events([Forked(8, 1), *other, unmapped, mapped(0x10000, 8, "/srv/one", pid=8), fault(0x10000, pid=8)])
    assert sampled.build_anatomy(0, named).by_touch == {Touch.FIRST: 200}


def remapped(old: int, old_pages: int, new: int, pages: int, flags: int = 1) -> list[Traced]:
    """Return the begin and the end of a call that moves memory."""
    sizes = f"old_len: {old_pages * PAGE:#x}, new_len: {pages * PAGE:#x}"
    begin = call("mremap", f"addr: {old:#x}, {sizes}, flags: {flags:#x}, new_addr: 0x0")
    return [begin, Traced(1, 1, 1.0, "syscalls:sys_exit_mremap", f"{new:#x}")]


def test_memory_that_is_moved_keeps_its_pages_and_its_kind() -> None:
    moved = [mapped(0x10000, 2), fault(0x10000), fault(0x11000), *remapped(0x10000, 2, 0x90000, 4)]
    # The first two pages are there already; only a write after a fork, or swapping, would fault on them again.
    anatomy = dissected([*moved, fault(0x92000), fault(0x93000)]).build_anatomy(4, named)
    assert anatomy.by_memory == {Memory.ANONYMOUS: 4}
    assert anatomy.by_touch == {Touch.FIRST: 4}
    freed = [*moved, call("munmap", f"addr: 0x90000, len: {4 * PAGE:#x}"), mapped(0x90000, 4), fault(0x91000)]
    assert dissected(freed).build_anatomy(3, named).by_touch == {Touch.FIRST: 2, Touch.AFTER_MUNMAP: 1}


def test_what_is_mapped_where_memory_was_moved_away_is_touched_for_the_first_time() -> None:
    events = [mapped(0x10000, 2), fault(0x10000), *remapped(0x10000, 2, 0x90000, 2), mapped(0x10000, 2), fault(0x10000)]
    assert dissected(events).build_anatomy(2, named).by_touch == {Touch.FIRST: 2}


def test_a_page_that_moved_memory_replaces_is_touched_after_it_was_unmapped() -> None:
    fixed = 3  # MREMAP_MAYMOVE | MREMAP_FIXED
    events = [mapped(0x10000, 2), fault(0x11000), mapped(0x90000, 2), fault(0x90000), fault(0x91000)]
    events += [*remapped(0x10000, 2, 0x90000, 2, fixed), fault(0x90000), fault(0x91000)]
    anatomy = dissected(events).build_anatomy(5, named)
    assert anatomy.by_touch == {Touch.FIRST: 3, Touch.AFTER_MUNMAP: 1, Touch.AGAIN: 1}


def test_memory_that_grows_where_it_is_stays_one_area() -> None:
    events = [mapped(0x10000, 1), fault(0x10000), *remapped(0x10000, 1, 0x10000, 3), fault(0x12000)]
    (area,) = dissected(events).build_anatomy(2, named).areas
    assert (area.size, area.faults, area.pages) == (3 * PAGE, 2, 2)


def test_a_call_that_the_kernel_refuses_moves_nothing() -> None:
    begin, _ = remapped(0x10000, 1, 0, 4)
    refused = Traced(1, 1, 1.0, "syscalls:sys_exit_mremap", "0xfffffffffffffff4")
    events = [mapped(0x10000, 1), begin, refused, fault(0x10000)]
    assert dissected(events).build_anatomy(1, named).by_memory == {Memory.ANONYMOUS: 1}


def test_memory_that_a_thread_without_faults_returned_is_known_as_returned() -> None:
    returned = call("munmap", "addr: 0x10000, len: 0x1000")._replace(tid=2)
    builder = AnatomyBuilder(1, 4096, FaultAccess("x86_64"), attached_late=True)
    builder.add_events([mapped(0x10000, 1), fault(0x10000)], [returned])
    anatomy = builder.build_anatomy(0, lambda places: {place: Frame(function="f", module="m") for place in places})
    assert anatomy.by_touch == {Touch.AFTER_MUNMAP: 1}


def test_a_page_that_had_been_given_back_before_calls_ended_counts_as_such_at_later_faults() -> None:
    returned = call("munmap", "addr: 0x10000, len: 0x1000")
    events = [
        mapped(0x10000, 2),
        *(fault(page)._replace(time=time) for time in (2.0, 3.0) for page in (0x10000, 0x11000)),
    ]
    builder = AnatomyBuilder(100, PAGE, FaultAccess("x86_64"), attached_late=True, calls_end=1.5)
    builder.add_events(events, [returned])
    assert builder.build_anatomy(0, named).by_touch == {Touch.AFTER_MUNMAP: 200, Touch.FIRST: 100, Touch.AGAIN: 100}
    whole = AnatomyBuilder(100, PAGE, FaultAccess("x86_64"), attached_late=True)
    whole.add_events(events, [returned])
    assert whole.build_anatomy(0, named).by_touch == {Touch.AGAIN: 200, Touch.AFTER_MUNMAP: 100, Touch.FIRST: 100}


def test_memory_that_calls_populate_at_once_is_counted() -> None:
    def count(*calls: Traced) -> int:
        return dissected(calls).build_census().populated_bytes

    mapping = "addr: 0x0, len: 0x8000, prot: 0x3, flags: {}"
    assert count(call("mmap", mapping.format("0x22"))) == 0
    assert count(call("mmap", mapping.format("0x8022"))) == 0x8000  # MAP_POPULATE
    assert count(call("madvise", "start: 0x10000, len_in: 0x3000, behavior: 0x17")) == 0x3000
    assert (
        count(call("mlock", "start: 0x10000, len: 0x2000"), call("mlock2", "start: 0x0, len: 0x2000, flags: 0x1"))
        == 0x2000
    )
    # After mlockall for the future, each mapping is populated.
    assert count(call("mlockall", "flags: 0x2"), call("mmap", mapping.format("0x22"))) == 0x8000
