"""Builds a profile from the recordings of live processes."""

import math
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from msgspec import Struct, field

from runner.attach.background_recording import Recordings, TimedRecording
from runner.attach.extrapolation import merge_anatomies, scale_anatomy
from runner.attach.foreign_files import FileView, make_file_view
from runner.attach.live_figures import Interval
from runner.attach.live_program import LiveProgram, identify_program, read_modification_time
from runner.contract.profile import DELETED_SUFFIX, Anatomy, Census, Profile, StackKind, StackProfile
from runner.contract.report import Case, Environment, Host, Reading, Revision, hash_document, make_safe_name
from runner.environment.capture import capture_environment
from runner.errors import FaultwatchError
from runner.installed_version import get_version
from runner.profile.anatomy import AnatomyBuilder
from runner.profile.fault_access import FaultAccess
from runner.profile.fault_place_lines import locate_places
from runner.profile.labels import cut_remarks
from runner.profile.perf_record_options import CallGraph
from runner.profile.permissions import RecordingPermissions
from runner.profile.recorded_system_calls import ENTRY_PREFIX, MREMAP_EXIT
from runner.profile.recording_reader import ADDRESS_FIELDS, CALL_FIELDS, STACK_FIELDS, TRACE_FIELDS, read_events
from runner.profile.relative_paths import make_anatomy_relative, make_frame_relative
from runner.profile.script_parser import Event, Fault, Forked, Lost, Stacked, Traced
from runner.profile.stack_folding import (
    FrameTable,
    WeightedStacks,
    count_stacks,
    sum_blocked_time,
)
from runner.system.valid_text import make_valid_text

_MIN_SAMPLED_FAULTS = 100
"""Sampled faults tell more than a recording of all faults if they are at least this many, and were recorded for as
long: more of the calls that give memory back are known by then."""


_MOVING_CALLS = frozenset({f"{ENTRY_PREFIX}brk", f"{ENTRY_PREFIX}mremap", MREMAP_EXIT})
"""The events of calls that move memory, or the end of the heap."""
_MIN_SECONDS = 0.5
"""A shorter recording cannot be compared with counts that are read just before and after it: the margins are too large
in relation to it."""
_MAX_TITLE_CHARACTERS = 2000
"""The longest title that the contract allows."""


class Observation(Struct, frozen=True):
    """What was observed, without its recordings.

    Attributes
    ----------
    interval
        What the processes used during the whole observation.
    pids
        The ids of all processes that were observed.
    """

    program: LiveProgram
    host: str
    interval: Interval
    pids: Sequence[int]
    processors: int
    started_at: datetime
    finished_at: datetime
    call_graph: CallGraph


class ProfileBuilder(Struct):
    """Builds the profile of one observation."""

    observation: Observation
    recordings: Recordings
    permissions: RecordingPermissions
    frame_table: FrameTable
    file_view: FileView
    remarks: list[str] = field(default_factory=list)
    _file_parts: set[tuple[int, str, int]] = field(default_factory=set)
    """The parts of mapped files that faulted. Of sampled faults, hardly any is on the same part as another, so that the
    complete recording has to say which parts are mapped again."""

    @classmethod
    def create(
        cls, observation: Observation, recordings: Recordings, permissions: RecordingPermissions
    ) -> "ProfileBuilder":
        """Return a builder without results."""
        file_view = make_file_view(observation.program)
        return cls(observation, recordings, permissions, FrameTable(file_view.find_lines), file_view)

    def build(self) -> Profile:
        """Read the recordings, and build the profile.

        Raises
        ------
        FaultwatchError
            perf's output cannot be read.
        """
        observation, used_figures = self.observation, self.observation.interval.used_figures
        anatomy, census = self._build_anatomy_and_census()
        faults, on_cpu = self._read_stacks()
        off_cpu = self._read_switches()
        frames = tuple(make_frame_relative(frame, self._make_file_relative) for frame in self.frame_table.frames)
        program = observation.program
        name = make_safe_name(program.name)
        return Profile(
            profile_id=uuid.uuid4(),
            subject=name,
            revision=Revision(
                commit=identify_program(program),
                committed_at=read_modification_time(program),
                title=program.process.title[:_MAX_TITLE_CHARACTERS],
            ),
            case=Case(workload=name, definition=hash_document(["attach", make_valid_text(program.file)])),
            host=Host(name=observation.host),
            environment=self._capture_environment(),
            runner_version=get_version(),
            started_at=observation.started_at,
            finished_at=observation.finished_at,
            scope="windows",
            readings=build_readings(observation.interval),
            frames=frames,
            faults=faults,
            on_cpu=on_cpu,
            off_cpu=off_cpu,
            # At least 1: some faults were recorded, even if the figures before and after show no difference.
            anatomy=scale_anatomy(anatomy, max(used_figures.faults, 1)) if anatomy else None,
            census=census,
            remarks=cut_remarks((*self.recordings.problems, *self.remarks)),
        )

    def _build_anatomy_and_census(self) -> tuple[Anatomy | None, Census | None]:
        """Return the anatomy of the faults, and the census of the system calls that map and release memory.

        The anatomy is that of the short recording of all faults. It is merged with that of the sampled faults if these
        are numerous enough, and were recorded for as long. The census is None without tracepoints. Both are None if
        no addresses were recorded. A remark says how many faults were recorded.
        """
        timed_recording = self.recordings.addresses
        if timed_recording is None:
            return None, None
        calls, calls_end = self._read_calls()
        complete_anatomy = self._build_anatomy(timed_recording, calls, calls_end)
        self.remarks.append(_describe_recorded_faults(complete_anatomy, timed_recording, self.observation.interval))
        anatomy = complete_anatomy
        sampled_recording = self.recordings.sampled_recording
        if sampled_recording and sampled_recording.seconds >= timed_recording.seconds:
            sampled_anatomy = self._build_anatomy(sampled_recording, calls, calls_end)
            # `recorded` counts each sampled fault as all faults of its period.
            if sampled_anatomy.recorded >= _MIN_SAMPLED_FAULTS * sampled_recording.period:
                anatomy = merge_anatomies(complete_anatomy, sampled_anatomy)
        if self.recordings.calls is None:
            return anatomy, None
        self.remarks.append(_describe_calls(self.recordings.calls, self.observation.interval))
        return anatomy, _build_census(calls)

    def _read_calls(self) -> tuple[list[Traced], float]:
        """Return the recorded calls of the observed processes in chronological order, and the time of the last call.

        The last call may be of any process. The time is infinity if no calls were recorded.
        """
        if self.recordings.calls is None:
            return [], math.inf
        return select_calls(self._read_events(self.recordings.calls, *CALL_FIELDS), self.observation.pids)

    def _build_anatomy(self, timed_recording: TimedRecording, calls: Sequence[Traced], calls_end: float) -> Anatomy:
        """Return the anatomy of one recording of addresses, given the calls that were recorded before and during it.

        The parts of files that were touched are added to those of the earlier recordings.
        """
        anatomy_builder = AnatomyBuilder(
            timed_recording.period,
            os.sysconf("SC_PAGE_SIZE"),
            FaultAccess(os.uname().machine),
            attached_late=True,
            calls_end=calls_end,
            file_parts=self._file_parts,
        )
        trace_fields = TRACE_FIELDS if self.permissions.error_codes else ()
        events, start = peek_first_fault(self._read_events(timed_recording, *ADDRESS_FIELDS, *trace_fields))
        # Earlier calls show which pages had been given back. But calls that move memory, or the end of the heap, are
        # left out: perf has read the mappings after most of them, so they would be applied twice.
        known_calls = (call for call in calls if call.time >= start or call.event not in _MOVING_CALLS)
        anatomy_builder.add_events(chain(timed_recording.guards, events), known_calls)
        # No total count is given (0), because the recorded faults are scaled later.
        anatomy = anatomy_builder.build_anatomy(0, partial(locate_places, self.frame_table))
        return make_anatomy_relative(anatomy, self._make_file_relative)

    def _read_stacks(self) -> tuple[StackProfile | None, StackProfile | None]:
        """Return the stacks of faults and those of CPU time, both scaled to the whole observation."""
        timed_recordings, budget = self.recordings.stacks, self.recordings.budget
        if not timed_recordings or budget is None:
            return None, None
        events = chain.from_iterable(self._read_events(part, *STACK_FIELDS) for part in timed_recordings)
        groups = split_events(events)
        used_figures = self.observation.interval.used_figures
        return (
            self._build_stacks(
                StackKind.FAULTS, groups["page-faults"], budget.fault_period, timed_recordings, used_figures.faults
            ),
            self._build_stacks(
                StackKind.ON_CPU,
                groups["cpu-clock"],
                budget.clock_period,
                timed_recordings,
                round(used_figures.cpu * 1e9),
            ),
        )

    def _read_switches(self) -> StackProfile | None:
        """Return the stacks of waiting threads, scaled to the whole observation; None if they were not recorded."""
        timed_recording, budget = self.recordings.switches, self.recordings.budget
        if timed_recording is None or budget is None:
            return None
        waiting_stacks = sum_blocked_time(self._read_events(timed_recording, *STACK_FIELDS))
        time_factor = self.observation.interval.seconds / timed_recording.seconds
        # The numbers of waits are scaled with their time, except for the period, which the profile contains.
        waiting_stacks.waits = Counter(
            {stack: max(1, round(number * time_factor)) for stack, number in waiting_stacks.waits.items()}
        )
        factor = budget.switch_period * time_factor
        return self._build_stacks(
            StackKind.OFF_CPU,
            waiting_stacks,
            budget.switch_period,
            [timed_recording],
            round(waiting_stacks.stacks.total() * factor),
        )

    def _build_stacks(
        self,
        kind: StackKind,
        weighted_stacks: WeightedStacks,
        period: int,
        timed_recordings: Sequence[TimedRecording],
        total: int,
    ) -> StackProfile:
        """Return folded stacks as a profile of one kind.

        Parameters
        ----------
        period
            One in this many events was recorded.
        total
            The weight of all stacks in the whole observation: faults, or nanoseconds.
        """
        recorded_bytes = sum(part.recorder.size for part in timed_recordings)
        call_graph = self.observation.call_graph
        return self.frame_table.build_stack_profile(
            kind, weighted_stacks, total, period=period, call_graph=call_graph, recorded_bytes=recorded_bytes
        )

    def _read_events(self, timed_recording: TimedRecording, *fields: str) -> Iterator[Event]:
        """Yield the readable events of a recording, with these fields of ``perf script``."""
        recorder = timed_recording.recorder
        words = (*fields, *self.file_view.options)
        events = read_events(
            recorder.path,
            *words,
            sandbox_prefix=self.file_view.sandbox_prefix,
            inherited_descriptors=[recorder.descriptor],
        )
        return keep_readable_events(events, self.remarks.append)

    def _make_file_relative(self, file: str) -> str:
        """Return the path of a file; if it is the program itself, without its folder, unlike the paths of libraries."""
        program_file = self.observation.program.file
        return file.rpartition("/")[2] if file.removesuffix(DELETED_SUFFIX) == program_file else file

    def _capture_environment(self) -> Environment:
        """Return the settings of this host and of the process."""
        program = self.observation.program
        settings = capture_environment(variables=program.variables, build_tools={}).settings
        program_settings = {
            "allocator": program.allocator or "unknown",
            "cpu.allowed": str(self.observation.processors),
            **({"runtime": program.runtime} if program.runtime else {}),
        }
        return Environment(settings=settings | program_settings)


def select_calls(events: Iterable[Event], pids: Iterable[int]) -> tuple[list[Traced], float]:
    """Return the calls of given processes, and of those that they start, from a recording of the whole host.

    Also return the time of the last call of any process; infinity if there is none.
    """
    observed_pids, calls, end = set(pids), list[Traced](), math.inf
    for event in events:
        if isinstance(event, Forked) and event.parent in observed_pids:
            observed_pids.add(event.pid)
        elif isinstance(event, Traced):
            end = event.time
            if event.pid in observed_pids:
                calls.append(event)
    return calls, end


def keep_readable_events(events: Iterable[Event], add_remark: Callable[[str], None]) -> Iterator[Event]:
    """Yield events until perf can read no further; a remark then says why.

    The readable events are kept because the processes cannot be recorded a second time. perf refuses, for example, a
    record that somebody else's recording of the page faults of this host has left in ours.

    Raises
    ------
    FaultwatchError
        perf cannot read any event.
    """
    n_events = 0
    try:
        for event in events:
            n_events += 1
            yield event
    except FaultwatchError as error:
        if not n_events:
            raise
        add_remark(f"one recording could be read only up to event {n_events:,}: {error}")


def peek_first_fault(events: Iterable[Event]) -> tuple[Iterator[Event], float]:
    """Return all the events, and the time of the first fault among them; infinity if there is none."""
    remaining_events = iter(events)
    first_events: list[Event] = []
    for event in remaining_events:
        first_events.append(event)
        if isinstance(event, Fault):
            return chain(first_events, remaining_events), event.time
    return iter(first_events), math.inf


def _build_census(calls: Iterable[Traced]) -> Census:
    """Return the number of calls and the bytes of each system call."""
    builder = AnatomyBuilder(1, os.sysconf("SC_PAGE_SIZE"), FaultAccess(os.uname().machine), attached_late=True)
    builder.add_events(calls)
    return builder.build_census()


def _describe_recorded_faults(anatomy: Anatomy, timed_recording: TimedRecording, interval: Interval) -> str:
    """Return how many faults the tables are based on, and whether faults are missing because perf missed threads."""
    recorded = f"{anatomy.recorded:,} fault" if anatomy.recorded == 1 else f"{anatomy.recorded:,} faults"
    verb = "was" if anatomy.recorded == 1 else "were"
    missing_clause = ""
    # All faults should be recorded. If they are fewer than half of those that the kernel counted, threads are missing.
    if anatomy.recorded * 2 < timed_recording.used_figures.faults and timed_recording.seconds >= _MIN_SECONDS:
        recorded, verb = f"{anatomy.recorded:,} of {timed_recording.used_figures.faults:,} faults", "were"
        missing_clause = ", not including those of threads that perf could not attach to"
    return (
        f"{recorded} {verb} recorded with their addresses in {timed_recording.seconds:.1f} s{missing_clause}; the "
        f"tables by memory, touch and place are scaled to the {interval.used_figures.faults:,} faults of the whole "
        "observation"
    )


def _describe_calls(timed_recording: TimedRecording, interval: Interval) -> str:
    """Return for how long calls were recorded: unlike the faults, they are not scaled to the whole observation."""
    return f"system calls were recorded for {timed_recording.seconds:.1f} of {interval.seconds:.1f} s"


def split_events(events: Iterator[Event]) -> Mapping[str, WeightedStacks]:
    """Count the stacks of a recording of page faults and CPU time, by event; lost records count as page faults."""
    events_by_name: dict[str, list[Event]] = {"page-faults": [], "cpu-clock": []}
    for event in events:
        if isinstance(event, Stacked) and event.event in events_by_name:
            events_by_name[event.event].append(event)
        elif isinstance(event, Lost):
            events_by_name["page-faults"].append(event)
    return {name: count_stacks(stack_events) for name, stack_events in events_by_name.items()}


def build_readings(interval: Interval) -> dict[str, Reading]:
    """Return what processes used, as readings of metrics."""
    used_figures = interval.used_figures
    values: dict[str, int | float] = {
        "page-faults": used_figures.faults,
        "minor-faults": used_figures.minor,
        "major-faults": used_figures.major,
        "context-switches": used_figures.switches,
        "task-clock": used_figures.cpu,
        "user-time": used_figures.user,
        "sys-time": used_figures.system,
        "elapsed": interval.seconds,
    }
    return {name: Reading(value=value) for name, value in values.items()}
