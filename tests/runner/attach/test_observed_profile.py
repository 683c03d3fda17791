"""What is read from the recordings of live processes."""

import math
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from runner.attach.background_recording import Recordings, TimedRecording
from runner.attach.live_figures import Figures, Interval
from runner.attach.live_program import LiveProgram
from runner.attach.live_recorder import LiveRecorder
from runner.attach.observed_profile import (
    Observation,
    ProfileBuilder,
    keep_readable_events,
    peek_first_fault,
    select_calls,
)
from runner.attach.process_table import LiveProcess
from runner.attach.recording_budget import Rates, plan_recording
from runner.errors import FaultwatchError
from runner.profile.permissions import RecordingPermissions
from runner.profile.script_parser import Event, Fault, Forked, Mapped, ScriptFrame, Stacked, Switched, Traced


def make_call(pid: int, time: float = 1.0) -> Traced:
    return Traced(pid, pid, time, "syscalls:sys_enter_munmap", "addr: 0x1000, len: 0x1000")


def test_calls_of_others_are_left_out_and_those_of_new_children_are_not() -> None:
    begin: list[Event] = [make_call(7), make_call(1), make_call(8), Forked(9, 7), Forked(10, 9), make_call(10)]
    calls, end = select_calls([*begin, make_call(1, time=2.0)], [7])
    assert [call.pid for call in calls] == [7, 10]
    assert end == 2.0
    assert select_calls([], [7]) == ([], math.inf)


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


SERVER = "/opt/server/bin/server"


def make_builder(*events: Event, seconds: float = 1.0, file: str = SERVER) -> ProfileBuilder:
    """Return a builder of a profile of a server, whose recordings contain some events."""
    process = LiveProcess(7, 1, 0, "server", (os.fsencode(file).decode(errors="replace"),), "/")
    now = datetime(2025, 1, 1, tzinfo=UTC)
    interval = Interval(10 * seconds, Figures(minor=100, user=1.0), 0)
    observation = Observation(LiveProgram(process, file), "host", interval, (7,), 2, now, now, "fp")
    recording = TimedRecording(cast(LiveRecorder, SimpleNamespace(size=0)), seconds, Figures(minor=10))
    budget = plan_recording(Rates(10, 10, 1.0), 1.0, 0.01, "fp")
    recordings = Recordings(budget=budget, addresses=recording, switches=recording)
    permissions = RecordingPermissions(tracepoints=False, error_codes=False, kernel=True, remarks=())

    class Builder(ProfileBuilder):
        def _read_events(self, _recording: TimedRecording, *_fields: str) -> Iterator[Event]:
            return iter(events)

    return Builder.create(observation, recordings, permissions)


def test_data_of_the_observed_program_itself_is_of_its_image() -> None:
    profile = make_builder(
        Mapped(7, 0x1000, 0x1000, 0, "r-xp", SERVER),
        Mapped(7, 0x2000, 0x1000, 0x1000, "rw-p", SERVER),
        Mapped(7, 0x3000, 0x1000, 0, "r--p", "/var/lib/table"),
        Fault(7, 7, 1.0, "page-faults", 0x2000, 0x1010, f"main+0x10 ({SERVER})"),
        Fault(7, 7, 1.1, "page-faults", 0x3000, 0x1010, f"main+0x10 ({SERVER})"),
        Fault(7, 7, 1.2, "major-faults", 0x3000, 0x1010, f"main+0x10 ({SERVER})"),
    ).build()
    assert profile.anatomy is not None
    anatomy = profile.anatomy
    assert {kind.file for kind in anatomy.kinds} == {"server", "/var/lib/table"}
    assert {site.file for site in anatomy.sites} == {"server", "/var/lib/table"}
    assert {area.name for area in anatomy.areas} == {"server", "/var/lib/table"}
    assert {site.frame.module for site in (*anatomy.sites, *anatomy.major_sites)} == {"server"}


def test_a_program_whose_path_is_not_text_is_observed() -> None:
    profile = make_builder(file=os.fsdecode(b"/opt/caf\xe9/caf\xe9")).build()
    assert profile.subject == "caf"
    assert profile.model_dump_json()


def test_waits_are_as_many_as_their_time_is_long() -> None:
    stack = Stacked(7, 7, 1.0, "context-switches", (ScriptFrame(0x10, "wait", SERVER),))
    events = (
        stack,
        Switched(7, 7, 1.0, is_on_cpu=False, preempted=False),
        Switched(7, 7, 1.5, is_on_cpu=True, preempted=False),
    )
    profile = make_builder(*events).build()
    assert profile.off_cpu is not None
    (stack_of_waits,) = profile.off_cpu.stacks
    assert stack_of_waits.weight == 10 * 500_000_000
    assert stack_of_waits.waits == 10


def read_until(*events: Event) -> Iterator[Event]:
    yield from events
    raise FaultwatchError("perf script failed: bad record")


def test_what_perf_read_before_a_bad_record_counts() -> None:
    remarks: list[str] = []
    assert list(keep_readable_events(read_until(make_call(1), make_call(2)), remarks.append)) == [
        make_call(1),
        make_call(2),
    ]
    assert remarks == ["one recording could be read only up to event 2: perf script failed: bad record"]


def test_a_recording_of_which_perf_reads_nothing_is_an_error() -> None:
    with pytest.raises(FaultwatchError, match="bad record"):
        list(keep_readable_events(read_until(), [].append))
