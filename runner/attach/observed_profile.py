"""Makes a profile of what was recorded of live processes."""

import os
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import chain

from msgspec import Struct, field

from runner.attach.background_recording import Recordings, Stretch
from runner.attach.extrapolation import merge_anatomies, scale_anatomy
from runner.attach.foreign_files import FileView, make_file_view
from runner.attach.live_figures import Interval
from runner.attach.live_program import LiveProgram, identify_program, read_modification_time
from runner.contract.profile import Anatomy, Census, Frame, Profile, StackKind, StackProfile
from runner.contract.report import Case, Environment, Host, Reading, Revision, hash_document, make_safe_name
from runner.environment.capture import capture_environment
from runner.profile.anatomy import AnatomyBuilder
from runner.profile.code_places import locate_places
from runner.profile.fault_access import FaultAccess
from runner.profile.permissions import RecordingPermissions
from runner.profile.recording_plan import CallGraph
from runner.profile.recording_reader import ADDRESS_FIELDS, STACK_FIELDS, TRACE_FIELDS, read_events
from runner.profile.script_parser import Event, Lost, Stacked
from runner.profile.stack_folding import (
    FrameTable,
    WeightedStacks,
    count_stacks,
    make_relative,
    sum_blocked_time,
)
from runner.version import get_version

_MIN_SAMPLED_FAULTS = 100
"""From this many sampled faults on, they tell more than each fault of a short time."""


_MIN_SECONDS = 0.5
"""In less time, counts that were read just before and after a recording do not compare with it."""


class Observation(Struct, frozen=True):
    """What was observed, without its recordings.

    Attributes
    ----------
    used
        What the processes used from the first to the last moment.
    """

    program: LiveProgram
    host: str
    used: Interval
    processors: int
    started_at: datetime
    finished_at: datetime
    call_graph: CallGraph


class ProfileBuilder(Struct):
    """Builds the profile of one observation."""

    observation: Observation
    recordings: Recordings
    permissions: RecordingPermissions
    table: FrameTable
    view: FileView
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def create(
        cls, observation: Observation, recordings: Recordings, permissions: RecordingPermissions
    ) -> "ProfileBuilder":
        """Return a builder without results."""
        view = make_file_view(observation.program)
        return cls(observation, recordings, permissions, FrameTable(view.lines), view)

    def build(self) -> Profile:
        """Read the recordings, and build the profile.

        Raises
        ------
        FaultwatchError
            perf's output cannot be read.
        """
        observation, used = self.observation, self.observation.used.used
        anatomy, census = self._read_addresses()
        faults, on_cpu = self._read_stacks()
        off_cpu = self._read_switches()
        frames = tuple(self._make_relative(frame) for frame in self.table.frames)
        program = observation.program
        name = make_safe_name(program.name)
        return Profile(
            profile_id=uuid.uuid4(),
            subject=name,
            revision=Revision(
                commit=identify_program(program),
                committed_at=read_modification_time(program),
                title=program.process.title[:2000],
            ),
            case=Case(workload=name, definition=hash_document(["attach", program.file])),
            host=Host(name=observation.host),
            environment=self._capture_environment(),
            runner_version=get_version(),
            started_at=observation.started_at,
            finished_at=observation.finished_at,
            scope="windows",
            readings=build_readings(observation.used),
            frames=frames,
            faults=faults,
            on_cpu=on_cpu,
            off_cpu=off_cpu,
            anatomy=scale_anatomy(anatomy, max(used.faults, 1)) if anatomy else None,
            census=census,
            remarks=tuple(remark[:1000] for remark in (*self.recordings.problems, *self.remarks)[:100]),
        )

    def _read_addresses(self) -> tuple[Anatomy | None, Census | None]:
        """Return the faults by memory and touch, and the calls that map and return memory."""
        stretch, budget = self.recordings.addresses, self.recordings.budget
        if stretch is None or budget is None:
            return None, None
        tracing = TRACE_FIELDS if self.permissions.tracepoints else ()
        complete, census = self._dissect_faults(stretch, 1, *ADDRESS_FIELDS, *tracing)
        self.remarks.append(_describe_recorded(complete, stretch, self.observation.used))
        anatomy = complete
        if self.recordings.sampled:
            sampled, census = self._dissect_faults(
                self.recordings.sampled, budget.sampled_period, *ADDRESS_FIELDS, *TRACE_FIELDS
            )
            if sampled.recorded >= _MIN_SAMPLED_FAULTS * budget.sampled_period:
                anatomy = merge_anatomies(complete, sampled)
        return anatomy, census if self.permissions.tracepoints else None

    def _dissect_faults(self, stretch: Stretch, period: int, *fields: str) -> tuple[Anatomy, Census]:
        """Return the anatomy and the calls of one recording of addresses."""
        dissection = AnatomyBuilder(
            period, os.sysconf("SC_PAGE_SIZE"), FaultAccess(os.uname().machine), attached_late=True
        )
        dissection.add_events(chain(stretch.guards, self._read_events(stretch, *fields)))
        anatomy = dissection.build_anatomy(0, partial(locate_places, self.table))
        sites = tuple(site.model_copy(update={"frame": self._make_relative(site.frame)}) for site in anatomy.sites)
        return anatomy.model_copy(update={"sites": sites}), dissection.build_census()

    def _read_stacks(self) -> tuple[StackProfile | None, StackProfile | None]:
        """Return the stacks of faults, and of CPU time, both scaled to the whole time."""
        stretch, budget = self.recordings.stacks, self.recordings.budget
        if stretch is None or budget is None:
            return None, None
        groups = split_events(self._read_events(stretch, *STACK_FIELDS))
        used = self.observation.used.used
        return (
            self._build_stacks(StackKind.FAULTS, groups["page-faults"], budget.fault_period, stretch, used.faults),
            self._build_stacks(
                StackKind.ON_CPU, groups["cpu-clock"], budget.clock_period, stretch, round(used.cpu * 1e9)
            ),
        )

    def _read_switches(self) -> StackProfile | None:
        """Return the stacks of waiting threads, scaled to the whole time."""
        stretch, budget = self.recordings.switches, self.recordings.budget
        if stretch is None or budget is None:
            return None
        waiting = sum_blocked_time(self._read_events(stretch, *STACK_FIELDS))
        factor = budget.switch_period * self.observation.used.seconds / stretch.seconds
        return self._build_stacks(
            StackKind.OFF_CPU, waiting, budget.switch_period, stretch, round(waiting.stacks.total() * factor)
        )

    def _build_stacks(
        self, kind: StackKind, weighed: WeightedStacks, period: int, stretch: Stretch, total: int
    ) -> StackProfile:
        """Return folded stacks as a profile of one kind."""
        recorded_bytes, call_graph = stretch.recorder.size, self.observation.call_graph
        return self.table.build_stack_profile(
            kind, weighed, total, period=period, call_graph=call_graph, recorded_bytes=recorded_bytes
        )

    def _read_events(self, stretch: Stretch, *fields: str) -> Iterator[Event]:
        recorder = stretch.recorder
        words = (*fields, *self.view.options)
        return read_events(
            recorder.path, *words, sandbox_prefix=self.view.sandbox_prefix, inherited=[recorder.descriptor]
        )

    def _make_relative(self, frame: Frame) -> Frame:
        """Return a frame whose module is relative if it is the program itself, which tells it from libraries."""
        folder = f"{self.observation.program.file.rpartition('/')[0]}/"
        is_own = frame.module == self.observation.program.file
        return frame.model_copy(update={"module": make_relative(frame.module, folder)}) if is_own else frame

    def _capture_environment(self) -> Environment:
        """Return the settings of this host and of the process."""
        program = self.observation.program
        settings = capture_environment(variables=program.variables, build_tools={}).settings
        extra = {
            "allocator": program.allocator or "unknown",
            "cpu.allowed": str(self.observation.processors),
            **({"runtime": program.runtime} if program.runtime else {}),
        }
        return Environment(settings=settings | extra)


def _describe_recorded(anatomy: Anatomy, stretch: Stretch, used: Interval) -> str:
    """Return on how many recorded faults the tables stand."""
    part = f"{anatomy.recorded:,} faults were recorded with their addresses, in {stretch.seconds:.1f} s"
    if anatomy.recorded * 2 < stretch.used.faults and stretch.seconds >= _MIN_SECONDS:
        part += f", of {stretch.used.faults:,}: threads that perf could not attach to are missing"
    return f"{part}; the memory, touch and place tables are scaled to the {used.used.faults:,} of the whole time"


def split_events(events: Iterator[Event]) -> Mapping[str, WeightedStacks]:
    """Count the stacks of a recording of several events, by event; lost records count for the first."""
    by_event: dict[str, list[Event]] = {"page-faults": [], "cpu-clock": []}
    for event in events:
        if isinstance(event, Stacked) and event.event in by_event:
            by_event[event.event].append(event)
        elif isinstance(event, Lost):
            by_event["page-faults"].append(event)
    return {name: count_stacks(found) for name, found in by_event.items()}


def build_readings(interval: Interval) -> dict[str, Reading]:
    """Return what processes used as readings of metrics."""
    used = interval.used
    values: dict[str, int | float] = {
        "page-faults": used.faults,
        "minor-faults": used.minor,
        "major-faults": used.major,
        "context-switches": used.switches,
        "task-clock": used.cpu,
        "user-time": used.user,
        "sys-time": used.system,
        "elapsed": interval.seconds,
    }
    return {name: Reading(value=value) for name, value in values.items()}
