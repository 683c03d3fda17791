"""Which system calls gave back the pages that fault again, by the stacks of the calls."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from runner.profile.requested_and_returned_memory import MemoryCalls
from runner.profile.script_parser import Event, Executed, Forked, Mapped, ScriptFrame, Stacked

PAGE = 4096
START = 0x7F0000000000
NAMES = ("munmap", "brk", "mremap", "fsync", "odd")
TOUCH = (ScriptFrame(0x100, "touch", "/srv/prog"),)


def fault(page: int, pid: int = 1) -> Stacked:
    return Stacked(pid, pid, 1.0, "page-faults", TOUCH, address=START + page * PAGE)


def call(name: str, arguments: str, caller: str, pid: int = 1) -> Stacked:
    frames = (ScriptFrame(1 << 63, "do_syscall_64", "[kernel.kallsyms]"), ScriptFrame(0x10, caller, "/srv/prog"))
    return Stacked(pid, pid, 1.0, f"syscalls:sys_enter_{name}", frames, text=arguments)


def advise(page: int, caller: str, pid: int = 1) -> Stacked:
    return call("madvise", f"start: {START + page * PAGE:#x}, len_in: 0x1000, behavior: 0x4", caller, pid)


def count(events: Iterable[Event], *, has_every_fault: bool = True) -> dict[str, int]:
    """Return the faults on pages that were given back, by ``call < caller``."""
    calls = MemoryCalls(PAGE, has_every_fault)
    assert all(event.address is not None for event in calls.follow(events) if isinstance(event, Stacked))
    stacks = calls.returned.stacks
    assert calls.returned.samples == stacks.total()
    return {" < ".join(frame.function for frame in stack): number for stack, number in stacks.items()}


def test_each_fault_counts_for_the_last_call_that_gave_its_page_back() -> None:
    events = [
        *(fault(page) for page in (0, 1)),
        advise(0, "purge"),
        advise(1, "purge"),
        advise(1, "trim"),
        *(fault(page) for page in (0, 1, 2)),
    ]
    assert count(events) == {"madvise < purge": 1, "madvise < trim": 1}


def test_pages_that_were_never_touched_are_not_touched_again() -> None:
    events = [call("munmap", f"addr: {START:#x}, len: 0x40000000", "release"), fault(0)]
    assert count(events) == {}
    # If only some faults were recorded, the page may have been touched before.
    assert count(events, has_every_fault=False) == {"munmap < release": 1}


def test_a_shrinking_heap_and_moved_memory_are_followed() -> None:
    heap = [
        call("brk", f"brk: {START + 8 * PAGE:#x}", "grow"),
        fault(7),
        call("brk", f"brk: {START:#x}", "trim"),
        fault(7),
    ]
    assert count(heap) == {"brk < trim": 1}
    moved = [
        fault(0),
        call("mremap", f"addr: {START:#x}, old_len: 0x1000, new_len: 0x2000, flags: 0x1", "realloc"),
        Stacked(1, 1, 1.0, "syscalls:sys_exit_mremap", TOUCH, text=f"{START + 64 * PAGE:#x}"),
        advise(64, "purge"),
        fault(64),
        fault(0),
    ]
    assert count(moved) == {"madvise < purge": 1}


def test_a_child_has_pages_of_its_own_and_another_program_has_none() -> None:
    events = [fault(0), Forked(2, 1), advise(0, "purge", pid=2), fault(0, pid=2), fault(0)]
    assert count(events) == {"madvise < purge": 1}
    assert count([fault(0), advise(0, "purge"), Executed(1), fault(0)]) == {}


def test_a_shared_page_that_faults_again_was_taken_away_by_the_last_call_on_a_file() -> None:
    shared = Mapped(1, START, 8 * PAGE, 0, "rw-s", "/srv/ring")
    truncate = call("ftruncate", "fd: 0x3, length: 0x0", "reset")
    assert count([shared, fault(0), truncate, fault(0)]) == {"ftruncate < reset": 1}
    assert count([shared, fault(0), fault(0), truncate]) == {}  # no call came between the faults
    private = Mapped(1, START, 8 * PAGE, 0, "rw-p", "/srv/ring")
    assert count([shared, private, fault(0), truncate, fault(0)]) == {}


def test_a_first_touch_counts_for_the_call_that_requested_the_memory() -> None:
    def request(page: int, n_pages: int, caller: str) -> list[Event]:
        arguments = f"addr: 0x0, len: {n_pages * PAGE:#x}, prot: 0x3, flags: 0x22"
        # The kernel reports all of a mapping that it makes larger.
        return [call("mmap", arguments, caller), Mapped(1, START, (page + n_pages) * PAGE, 0, "rw-p", "//anon")]

    def count_requests(events: Iterable[Event]) -> dict[str, int]:
        calls = MemoryCalls(PAGE, has_every_fault=True)
        list(calls.follow(events))
        return {stack[1].function: number for stack, number in calls.requested.stacks.items()}

    two = [*request(0, 4, "load"), *request(4, 4, "grow")]
    assert count_requests([*two, *(fault(page) for page in (0, 1, 4, 4))]) == {"load": 2, "grow": 1}
    unmapped = call("munmap", f"addr: {START:#x}, len: {4 * PAGE:#x}", "release")
    assert count_requests([*two, unmapped, *request(0, 4, "reload"), fault(0), fault(4)]) == {"reload": 1, "grow": 1}
    moved = [
        call("mremap", f"addr: {START:#x}, old_len: 0x1000, new_len: 0x4000, flags: 0x1", "realloc"),
        Stacked(1, 1, 1.0, "syscalls:sys_exit_mremap", TOUCH, text=f"{START + 64 * PAGE:#x}"),
    ]
    assert count_requests([*request(0, 1, "load"), *moved, fault(66)]) == {"realloc": 1}
    file = [
        call("mmap", "addr: 0x0, len: 0x1000, prot: 0x1, flags: 0x2", "open"),
        Mapped(1, START, PAGE, 0, "r--p", "/x"),
    ]
    assert count_requests([*file, fault(0)]) == {}
    assert count_requests([*two, Executed(1), fault(0)]) == {}


def test_a_page_that_was_write_protected_faults_for_the_call_that_did_so() -> None:
    protect = "start: 0x7f0000000000, len: 0x2000, prot: {}"
    events = [fault(0), call("mprotect", protect.format("0x1"), "barrier"), fault(0), fault(1)]
    assert count(events) == {"mprotect < barrier": 1}
    assert count([fault(0), call("mprotect", protect.format("0x3"), "grow"), fault(0)]) == {}
    returned = [fault(0), advise(0, "purge"), call("mprotect", protect.format("0x0"), "barrier"), fault(0)]
    assert count(returned) == {"madvise < purge": 1}


@given(
    st.lists(
        st.one_of(
            st.builds(fault, st.integers(0, 3), st.integers(1, 2)),
            st.builds(advise, st.integers(0, 3), st.sampled_from(("purge", "trim")), st.integers(1, 2)),
            st.builds(call, st.sampled_from(NAMES), st.text(max_size=20), st.just("f")),
            st.just(Forked(2, 1)),
            st.just(Executed(1)),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_no_more_faults_are_explained_than_happened(events: list[Event], has_every_fault: bool) -> None:
    n_faults = sum(isinstance(event, Stacked) and event.address is not None for event in events)
    assert sum(count(events, has_every_fault=has_every_fault).values()) <= n_faults
