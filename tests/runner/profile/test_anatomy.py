"""Recorded events → what each fault hit, why and where."""

from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runner.contract.profile import Access, Frame, Memory, Touch
from runner.profile.anatomy import CodePlace, Dissection, access_of
from runner.profile.page_states import PAGE, PageStates
from runner.profile.script_parser import Event, Executed, Fault, Forked, Lost, Mapped, Traced, parse_script

RECORDED = Path(__file__).parent / "recorded"
HERE = "main+0x10 (/srv/build/program)"


def named(places: Iterable[CodePlace]) -> dict[CodePlace, Frame]:
    return {place: Frame(function=place.function, module=place.module) for place in places}


def fault(address: int, *, pid: int = 1, tid: int = 1, time: float = 1.0, code: int | None = 6) -> Fault:
    return Fault(pid, tid, time, "page-faults", address, 0x400010, HERE, code)


def call(name: str, arguments: str, pid: int = 1) -> Traced:
    return Traced(pid, pid, 1.0, f"syscalls:sys_enter_{name}", arguments)


def mapped(start: int, pages: int, name: str = "//anon", protection: str = "rw-p", pid: int = 1) -> Mapped:
    return Mapped(pid, start, pages * PAGE, 0, protection, name)


def dissected(events: Iterable[Event], period: int = 1) -> Dissection:
    dissection = Dissection(period)
    dissection.take(events)
    return dissection


def test_a_real_recording_comes_to_its_faults() -> None:
    found = dissected(parse_script((RECORDED / "faults.txt").read_text().splitlines(keepends=True)))
    anatomy = found.anatomy(102, named)
    assert anatomy.counted == anatomy.recorded == 102
    # Three rounds of eight pages: touched, advised away, touched again, unmapped.
    assert anatomy.by_touch[Touch.AFTER_MADVISE] == 24
    assert anatomy.by_touch[Touch.AFTER_MUNMAP] == 16
    assert anatomy.unplaced == 0
    assert {Memory.ANONYMOUS, Memory.FILE_TEXT, Memory.FILE_DATA, Memory.STACK} <= anatomy.by_memory.keys()
    assert Access.UNKNOWN not in anatomy.by_access
    assert anatomy.sites[0].frame.function == "main"  # into which touch was inlined
    assert found.census().calls["madvise"].calls == 4  # the ending thread advises its stack away as well


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
    anatomy = dissected(events).anatomy(5, named)
    kinds = (Memory.ANONYMOUS, Memory.FILE_DATA, Memory.FILE_TEXT, Memory.SHARED, Memory.OTHER)
    assert anatomy.by_memory == dict.fromkeys(kinds, 1)
    assert anatomy.by_access == {Access.WRITE: 3, Access.READ: 1, Access.INSTRUCTION: 1}


def test_the_heap_is_known_by_brk_before_the_kernel_names_it() -> None:
    events = [call("brk", "brk: 0x00000000"), call("brk", "brk: 0x00021000"), mapped(0x10000, 0x11), fault(0x11000)]
    assert dissected(events).anatomy(1, named).by_memory == {Memory.HEAP: 1}


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
    touched = dissected(events).anatomy(4, named).by_touch
    assert touched == {Touch.FIRST: 2, Touch.AGAIN: 1, Touch.AFTER_BRK: 1}


def test_advice_that_takes_nothing_is_no_giving_back() -> None:
    events = [fault(0x10000), call("madvise", "start: 0x10000, len_in: 0x1000, behavior: 0x0000000e"), fault(0x10000)]
    assert dissected(events).anatomy(2, named).by_touch == {Touch.FIRST: 1, Touch.AGAIN: 1}


def test_processes_have_their_own_pages_and_inherit_mappings() -> None:
    events = [
        mapped(0x10000, 4),
        fault(0x10000),
        Forked(2, 1),
        fault(0x10000, pid=2, tid=2),
        Executed(2),
        fault(0x10000, pid=2, tid=2),
    ]
    anatomy = dissected(events).anatomy(3, named)
    assert anatomy.by_touch == {Touch.FIRST: 3}
    assert anatomy.by_memory == {Memory.ANONYMOUS: 2, Memory.OTHER: 1}


def test_what_was_lost_is_stated_and_the_tables_still_come_to_the_count() -> None:
    anatomy = dissected([mapped(0x10000, 4), fault(0x10000), Lost(9)]).anatomy(10, named)
    assert (anatomy.counted, anatomy.recorded, anatomy.unplaced, anatomy.lost) == (10, 1, 9, 9)
    assert anatomy.by_touch == {Touch.UNKNOWN: 9, Touch.FIRST: 1}
    assert anatomy.elsewhere == 9


def test_one_fault_in_many_says_nothing_of_first_touches() -> None:
    anatomy = dissected([mapped(0x10000, 4), fault(0x10000), fault(0x11000)], period=5).anatomy(11, named)
    assert anatomy.by_touch == {Touch.UNKNOWN: 11}
    assert anatomy.refault_ratio is None


def test_an_area_knows_its_threads_and_pages() -> None:
    events = [mapped(0x10000, 16), *(fault(0x10000 + page * PAGE, tid=page % 3, time=page) for page in range(9))]
    (area,) = dissected(events).anatomy(9, named).areas
    assert (area.threads, area.pages, area.faults, area.seconds) == (3, 9, 9, 8)


def test_an_error_code_tells_what_was_wanted() -> None:
    assert [access_of(code) for code in (None, 4, 6, 7, 0x14)] == [
        Access.UNKNOWN,
        Access.READ,
        Access.WRITE,
        Access.WRITE,
        Access.INSTRUCTION,
    ]


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
    anatomy = dissected(events).anatomy(faults + more, named)  # the contract refuses tables that do not add up
    assert anatomy.unplaced == more
    assert anatomy.pages == len({event.address // PAGE for event in events if isinstance(event, Fault)})


def test_giving_back_a_vast_range_is_as_quick_as_what_was_touched() -> None:
    pages = PageStates()
    pages.fault(7)
    pages.call("munmap", {"addr": 0, "len": 1 << 60})
    assert pages.fault(7) == Touch.AFTER_MUNMAP
