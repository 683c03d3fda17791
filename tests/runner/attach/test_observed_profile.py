"""What is read from the recordings of live processes."""

import math
from collections.abc import Iterator

import pytest

from runner.attach.observed_profile import keep_readable, peek_first_fault, select_calls
from runner.errors import FaultwatchError
from runner.profile.script_parser import Event, Fault, Forked, Mapped, Traced


def make_call(pid: int, time: float = 1.0) -> Traced:
    return Traced(pid, pid, time, "syscalls:sys_enter_munmap", "addr: 0x1000, len: 0x1000")


def test_calls_of_others_are_left_out_and_those_of_new_children_are_not() -> None:
    events: list[Event] = [make_call(7), make_call(1), make_call(8), Forked(9, 7), Forked(10, 9), make_call(10)]
    assert [call.pid for call in select_calls(events, [7])] == [7, 10]


def test_the_first_fault_is_found_and_no_event_is_lost() -> None:
    mapped = Mapped(7, 0x1000, 0x1000, 0, "rw-p", "//anon")
    fault = Fault(7, 7, 2.5, "page-faults", 0x1000, 0x2000, "f (m)")
    later = fault._replace(time=3.0)
    events, time = peek_first_fault([mapped, fault, later])
    assert time == 2.5
    assert list(events) == [mapped, fault, later]
    events, time = peek_first_fault([mapped])
    assert time == math.inf
    assert list(events) == [mapped]


def read_until(*events: Event) -> Iterator[Event]:
    yield from events
    raise FaultwatchError("perf script failed: bad record")


def test_what_perf_read_before_a_bad_record_counts() -> None:
    remarks: list[str] = []
    assert list(keep_readable(read_until(make_call(1), make_call(2)), remarks.append)) == [make_call(1), make_call(2)]
    assert remarks == ["one recording was read up to its event 2 only: perf script failed: bad record"]


def test_a_recording_of_which_perf_reads_nothing_is_an_error() -> None:
    with pytest.raises(FaultwatchError, match="bad record"):
        list(keep_readable(read_until(), [].append))
