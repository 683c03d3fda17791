"""Profiles one case: executes it to count, to record faults, their stacks, and CPU time and waiting."""

import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from runner.contract import profile as contract
from runner.contract.profile import Anatomy, Census, Profile, StackKind, StackProfile
from runner.contract.report import Reading, Sample
from runner.execution.sandbox import read_only_prefix
from runner.measuring.trial import Trial
from runner.perf.recording import Recording, RecordPlan
from runner.profile import recording_plan
from runner.profile.anatomy import CodePlace, Dissection
from runner.profile.elf import call_graph_of, find_go_file
from runner.profile.fault_access import FaultAccess
from runner.profile.legibility import has_no_callers, remark_missing_callers, remark_missing_names
from runner.profile.permissions import RecordingPermissions, recording_permissions
from runner.profile.recording_plan import CallGraph, ExpectedCounts
from runner.profile.recording_reader import ADDRESSES, CALLS_ALONE, STACKS, TRACED, read_events
from runner.profile.script_parser import Event, ScriptFrame
from runner.profile.source_lines import SourceLine, lines_of
from runner.profile.stack_folding import (
    FrameTable,
    Weighed,
    count_stacks,
    distribute,
    expand_inlined,
    relative,
    sum_blocked_time,
)
from runner.profile.strace_census import StraceCensus
from runner.subject.built_tree import begin_session
from runner.system.scratch import scratch_folder
from runner.version import version

Progress = Callable[[str], None]


class Collector(Struct):
    """Collects the parts of one profile.

    Attributes
    ----------
    scratch
        The folder for perf's recordings.
    within
        The words before tools that read recordings and binaries, see :func:`read_only_prefix`.
    table
        The frames of all stacks.
    without_callers
        The kinds of stacks of which nearly all have one frame.
    """

    trial: Trial
    call_graph: CallGraph
    permissions: RecordingPermissions
    scratch: Path
    within: list[str]
    table: FrameTable
    remarks: list[str] = field(default_factory=list)
    without_callers: list[StackKind] = field(default_factory=list)

    @classmethod
    def for_trial(
        cls, trial: Trial, call_graph: CallGraph, permissions: RecordingPermissions, scratch: Path
    ) -> "Collector":
        """Return the collector of a trial's profile, which has nothing yet."""
        within = read_only_prefix(trial.sandbox, scratch, trial.tree)
        return cls(trial, call_graph, permissions, scratch, within, FrameTable(partial(lines_of, within=within)))

    def faults(self, expected: ExpectedCounts) -> tuple[StackProfile, Anatomy, Census, Sample]:
        """Record each fault with its address in one execution, and some with their stacks in another.

        Not in the same one, because kernels confuse the events if two of them sample the same fault.
        """
        addresses, period = self.scratch / "faults.data", recording_plan.faults_period(expected)
        permissions = self.permissions
        options = recording_plan.faults_options(
            period, tracepoints=permissions.tracepoints, error_codes=permissions.error_codes
        )
        plans = [RecordPlan(options, addresses)]
        calls = self.scratch / "calls.data" if period > 1 and self.permissions.tracepoints else None
        if calls:
            plans.append(RecordPlan(recording_plan.calls_options(), calls))
            self.remarks.append(f"one fault in {period} was recorded, so it is unknown which pages were touched before")
        strace = None if self.permissions.tracepoints else StraceCensus(self.scratch / "calls.strace")
        sample = self.trial.execute(recording=Recording(tuple(plans), strace))
        counted = sample.processes[0] if sample.processes else sample.readings
        faults = int(_value(counted, "page-faults") or 0)
        # In parallel: reading half a million faults takes as long as the next execution, of which nothing is timed.
        with ThreadPoolExecutor(1) as background:
            dissecting = background.submit(self._dissect, period, addresses, calls)
            stacks = self._fault_stacks(expected, faults)
            dissection = dissecting.result()
        census = strace.census() if strace else dissection.census()
        return stacks, dissection.anatomy(faults, self._locate), census, sample

    def _dissect(self, period: int, addresses: Path, calls: Path | None) -> Dissection:
        dissection = Dissection(period, os.sysconf("SC_PAGE_SIZE"), FaultAccess(os.uname().machine))
        dissection.take(self._events(addresses, *ADDRESSES, *(TRACED if self.permissions.tracepoints else ())))
        if calls:
            dissection.take_calls(self._events(calls, *CALLS_ALONE))
        return dissection

    def _fault_stacks(self, expected: ExpectedCounts, counted: int) -> StackProfile:
        stacks, apart = self.scratch / "stacks.data", recording_plan.stacks_period(expected.faults, self.call_graph)
        options = recording_plan.stack_options("page-faults", apart, self.call_graph)
        self.trial.execute(recording=Recording((RecordPlan(options, stacks),)))
        weighed = count_stacks(self._events(stacks, *STACKS))
        return self._profile(StackKind.FAULTS, weighed, apart, stacks, counted)

    def times(self, expected: ExpectedCounts) -> tuple[StackProfile, StackProfile]:
        """Record where the CPU time goes and where threads wait, in one execution."""
        on, off = self.scratch / "on-cpu.data", self.scratch / "off-cpu.data"
        clock = recording_plan.clock_period(expected, self.call_graph)
        apart = recording_plan.stacks_period(expected.switches, self.call_graph)
        plans = (
            RecordPlan(recording_plan.stack_options("cpu-clock", clock, self.call_graph), on),
            RecordPlan(
                (*recording_plan.stack_options("context-switches", apart, self.call_graph), "--switch-events"), off
            ),
        )
        self.trial.execute(recording=Recording(plans))
        running = count_stacks(self._events(on, *STACKS))
        waiting = sum_blocked_time(self._events(off, *STACKS))
        return (
            self._profile(StackKind.ON_CPU, running, clock, on, running.samples * clock),
            self._profile(StackKind.OFF_CPU, waiting, apart, off, waiting.stacks.total() * apart),
        )

    def _events(self, file: Path, *fields: str) -> Iterator[Event]:
        return read_events(file, *fields, within=self.within)

    def _profile(self, kind: StackKind, weighed: Weighed, period: int, file: Path, total: int) -> StackProfile:
        if has_no_callers(weighed):
            self.without_callers.append(kind)
        stacks = self.table.stacks(distribute(weighed.stacks, total))
        return StackProfile(
            kind=kind,
            samples=weighed.samples,
            period=period,
            total=sum(stack.weight for stack in stacks),
            lost=weighed.lost,
            call_graph=self.call_graph,
            recorded_bytes=file.stat().st_size,
            stacks=stacks,
        )

    def _locate(self, places: Iterable[CodePlace]) -> dict[CodePlace, contract.Frame]:
        """Return the source line of each place, with the innermost function that was inlined there."""
        places = set(places)
        offsets_of: dict[str, set[int]] = defaultdict(set)
        for place in places:
            if place.module.startswith("/") and place.offset:
                offsets_of[place.module].add(place.offset)
        lines = {module: self.table.lines(module, offsets) for module, offsets in offsets_of.items()}
        return {place: _frame_of(place, lines.get(place.module, {})) for place in places}


def collect(
    trial: Trial,
    *,
    call_graph: CallGraph | None = None,
    times: bool = True,
    progress: Progress = lambda _: None,
) -> Profile:
    """Profile a case. None of the executions is a sample.

    Parameters
    ----------
    call_graph
        How perf unwinds stacks; by default what the program's files allow.
    times
        Record CPU time and waiting as well as faults.

    Raises
    ------
    ExecutionFailure
        If the program fails.
    FaultwatchError
        If the host forbids it, or perf's output cannot be parsed.
    """
    started_at = datetime.now(UTC)
    permissions = recording_permissions()
    progress("counting")
    begin_session(trial.tree)
    if not trial.is_cold:
        trial.warm_up()
    counted = trial.execute()
    references = _references(trial, progress)
    expected = expectation(counted.processes[0] if counted.processes else counted.readings)
    chosen, reason = (call_graph, ()) if call_graph else _unwinding(trial)
    with scratch_folder() as folder:
        collector = Collector.for_trial(trial, chosen, permissions, folder)
        collector.remarks += (*reason, *permissions.remarks)
        progress("recording faults")
        faults, anatomy, census, recorded = collector.faults(expected)
        on_cpu = off_cpu = None
        if times:
            progress("recording CPU time and waiting")
            on_cpu, off_cpu = collector.times(expected)
    root = f"{trial.tree.absolute()}/"
    frames = tuple(_take_from_tree(frame, root) for frame in collector.table.frames)
    collector.remarks += remark_missing_callers(collector.without_callers, chosen)
    collector.remarks += remark_missing_names(frames, trial.tree)
    return Profile(
        profile_id=uuid.uuid4(),
        subject=trial.subject.name,
        revision=trial.subject.revision,
        case=trial.subject.case,
        host=trial.host,
        environment=trial.environment,
        runner_version=version(),
        started_at=started_at,
        finished_at=datetime.now(UTC),
        scope="region" if trial.workload.run.region else "process",
        processes=trial.processes,
        operations=_operations(counted.readings),
        readings=counted.readings,
        references=references,
        overhead_percent=_overhead(counted.readings, recorded.readings),
        frames=frames,
        faults=faults,
        on_cpu=on_cpu,
        off_cpu=off_cpu,
        anatomy=_anatomy_from_tree(anatomy, root),
        census=census,
        remarks=tuple(remark[:1000] for remark in collector.remarks[:100]),
    )


def _unwinding(trial: Trial) -> tuple[CallGraph, tuple[str, ...]]:
    """Return how to unwind the stacks of a case, and why if its program is of Go, also where a shell starts it."""
    go = find_go_file(trial.own_files)
    if go is None:
        return call_graph_of(trial.program), ()
    name = relative(str(go.resolve()), f"{trial.tree.resolve()}/")
    return "fp", (
        (
            f"stacks are unwound with frame pointers (--call-graph fp), because {name} is a Go program, and Go "
            f"keeps them"
        ),
    )


def _take_from_tree(frame: contract.Frame, root: str) -> contract.Frame:
    return frame.model_copy(update={"module": relative(frame.module, root), "file": relative(frame.file, root)})


def _anatomy_from_tree(anatomy: Anatomy, root: str) -> Anatomy:
    sites = tuple(site.model_copy(update={"frame": _take_from_tree(site.frame, root)}) for site in anatomy.sites)
    areas = tuple(area.model_copy(update={"name": relative(area.name, root)}) for area in anatomy.areas)
    return anatomy.model_copy(update={"sites": sites, "areas": areas})


def expectation(readings: Mapping[str, Reading]) -> ExpectedCounts:
    """Return the counts to expect of an execution, from the readings of a counted one."""
    return ExpectedCounts(
        faults=int(_value(readings, "page-faults") or 0),
        switches=int(_value(readings, "context-switches") or 0),
        cpu_seconds=_value(readings, "task-clock") or 0.0,
    )


def _references(trial: Trial, progress: Progress) -> dict[str, dict[str, Reading]]:
    """Execute the references for the case: one process if it has several, warm files if it has cold ones."""
    references = {}
    if trial.processes > 1:
        progress("counting one process alone")
        references["alone"] = dict(trial.execute(processes=1).readings)
    if trial.is_cold:
        progress("counting with warm files")
        references["warm"] = dict(trial.execute(as_left=True).readings)
    return references


def _value(readings: Mapping[str, Reading], name: str) -> float | None:
    """Return the value of a metric in the region, or else in the whole process."""
    for key in (f"region:{name}", name):
        reading = readings.get(key)
        if reading is not None and reading.value is not None:
            return reading.value
    return None


def _operations(readings: Mapping[str, Reading]) -> float | None:
    per_operation, minor = _value(readings, "faults-per-operation"), readings.get("page-faults")
    if not per_operation or minor is None or not minor.value:
        return None
    return float(minor.value / per_operation)


def _overhead(counted: Mapping[str, Reading], recorded: Mapping[str, Reading]) -> float | None:
    """Return the overhead in CPU time, because elapsed time depends on the rest of the host."""
    before, after = _value(counted, "task-clock"), _value(recorded, "task-clock")
    return 100 * (after - before) / before if before and after is not None else None


def _frame_of(place: CodePlace, lines: Mapping[int, tuple[SourceLine, ...]]) -> contract.Frame:
    return expand_inlined(ScriptFrame(place.offset, place.function, place.module), tuple(lines.get(place.offset, ())))[
        0
    ]
