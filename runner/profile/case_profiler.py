"""Profiles one case: executes it to count, to record faults, their stacks, and CPU time and waiting."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from runner.contract import profile as contract
from runner.contract.profile import Anatomy, Census, Profile, ProfileScope, PythonLine, StackKind, StackProfile
from runner.contract.report import Reading, Sample
from runner.execution.confined_readers import build_reader_prefix
from runner.measuring.trial import Trial
from runner.perf.attached_recorder import Recording, RecordPlan, Tracer
from runner.perf.session import ExecutionFailure
from runner.profile import recording_plan
from runner.profile.anatomy import Dissection
from runner.profile.code_places import locate_places
from runner.profile.compiled_code import CompiledCode, add_map_variables
from runner.profile.fault_access import FaultAccess
from runner.profile.missing_symbols import describe_missing_callers, describe_missing_symbols, has_no_callers
from runner.profile.permissions import RecordingPermissions, detect_recording_permissions
from runner.profile.python_lines import PythonLineRecorder, executes_python
from runner.profile.recording_plan import CallGraph, ExpectedCounts
from runner.profile.recording_reader import ADDRESS_FIELDS, CALL_FIELDS, STACK_FIELDS, TRACE_FIELDS, read_events
from runner.profile.script_parser import Event
from runner.profile.source_lines import find_source_lines
from runner.profile.stack_folding import (
    FrameTable,
    Weighed,
    count_stacks,
    make_relative,
    sum_blocked_time,
)
from runner.profile.stack_unwinding import choose_unwinding
from runner.profile.strace_recording import StraceRecording
from runner.subject.session_tree_restorer import restore_tree
from runner.system.scratch import make_scratch_folder
from runner.version import get_version
from runner.workload import Workload

Progress = Callable[[str], None]


class Collector(Struct):
    """Collects the parts of one profile.

    Attributes
    ----------
    scratch
        The folder for perf's recordings.
    within
        The words before tools that read recordings and binaries, see :func:`build_reader_prefix`.
    table
        The frames of all stacks.
    cleanup
        Removes what the program leaves behind for the profile, at its end.
    without_callers
        The kinds of stacks that nearly all consist of a single frame.
    """

    trial: Trial
    call_graph: CallGraph
    permissions: RecordingPermissions
    scratch: Path
    within: list[str]
    table: FrameTable
    cleanup: ExitStack
    remarks: list[str] = field(default_factory=list)
    without_callers: list[StackKind] = field(default_factory=list)

    @classmethod
    def for_trial(
        cls,
        trial: Trial,
        call_graph: CallGraph,
        permissions: RecordingPermissions,
        scratch: Path,
        cleanup: ExitStack,
    ) -> "Collector":
        """Return a new, empty collector for the profile of a trial."""
        within = build_reader_prefix(trial.sandbox, scratch, trial.tree)
        table = FrameTable(partial(find_source_lines, within=within))
        return cls(trial, call_graph, permissions, scratch, within, table, cleanup)

    def record_faults(self, expected: ExpectedCounts) -> tuple[StackProfile, Anatomy, Census, Sample]:
        """Record each fault with its address in one execution, and some with their stacks in another.

        Not in the same one, because kernels confuse the events if two of them sample the same fault.
        """
        addresses, period = self.scratch / "faults.data", recording_plan.compute_faults_period(expected)
        permissions = self.permissions
        options = recording_plan.build_faults_options(
            period, tracepoints=permissions.tracepoints, error_codes=permissions.error_codes
        )
        plans = [RecordPlan(options, addresses)]
        calls = self.scratch / "calls.data" if period > 1 and self.permissions.tracepoints else None
        if calls:
            plans.append(RecordPlan(recording_plan.build_calls_options(), calls))
            self.remarks.append(f"one fault in {period} was recorded, so it is unknown which pages were touched before")
        strace = None if self.permissions.tracepoints else StraceRecording(self.scratch / "calls.strace")
        code = self._follow_compiled_code()
        sample = self._execute_recorded(plans, code, *([strace] if strace else []))
        counted = sample.processes[0] if sample.processes else sample.readings
        faults = int(_get_value(counted, "page-faults") or 0)
        # In parallel: reading half a million faults takes as long as the next execution, of which nothing is timed.
        with ThreadPoolExecutor(1) as background:
            dissecting = background.submit(self._dissect_faults, period, addresses, calls, strace, code)
            stacks = self._record_fault_stacks(expected, faults)
            dissection = dissecting.result()
        census = dissection.build_census("strace" if strace else "tracepoints")
        return stacks, dissection.build_anatomy(faults, partial(locate_places, self.table)), census, sample

    def _dissect_faults(
        self, period: int, addresses: Path, calls: Path | None, strace: StraceRecording | None, code: CompiledCode
    ) -> Dissection:
        """Return the recorded faults by memory and touch, with the calls that map memory."""
        dissection = Dissection(period, os.sysconf("SC_PAGE_SIZE"), FaultAccess(os.uname().machine))
        dissection.add_events(
            code.name_functions(
                self._read_events(addresses, *ADDRESS_FIELDS, *(TRACE_FIELDS if self.permissions.tracepoints else ()))
            ),
            strace.read_calls() if strace else (),
        )
        if calls:
            dissection.add_calls(self._read_events(calls, *CALL_FIELDS))
        return dissection

    def _record_fault_stacks(self, expected: ExpectedCounts, counted: int) -> StackProfile:
        """Record the stacks of faults in one execution, scaled to the counted number."""
        stacks, apart = (
            self.scratch / "stacks.data",
            recording_plan.compute_stacks_period(expected.faults, self.call_graph),
        )
        options = recording_plan.build_stack_options("page-faults", apart, self.call_graph)
        code = self._follow_compiled_code()
        self._execute_recorded([RecordPlan(options, stacks)], code)
        weighed = count_stacks(code.name_functions(self._read_events(stacks, *STACK_FIELDS)))
        return self._build_stack_profile(StackKind.FAULTS, weighed, apart, stacks, counted)

    def record_times(self, expected: ExpectedCounts) -> tuple[StackProfile, StackProfile]:
        """Record where the CPU time goes and where threads wait, in one execution."""
        on_cpu, off_cpu = self.scratch / "on-cpu.data", self.scratch / "off-cpu.data"
        clock = recording_plan.compute_clock_period(expected, self.call_graph)
        apart = recording_plan.compute_stacks_period(expected.switches, self.call_graph)
        plans = (
            RecordPlan(recording_plan.build_stack_options("cpu-clock", clock, self.call_graph), on_cpu),
            RecordPlan(
                (*recording_plan.build_stack_options("context-switches", apart, self.call_graph), "--switch-events"),
                off_cpu,
            ),
        )
        code = self._follow_compiled_code()
        self._execute_recorded(plans, code)
        running = count_stacks(code.name_functions(self._read_events(on_cpu, *STACK_FIELDS)))
        waiting = sum_blocked_time(code.name_functions(self._read_events(off_cpu, *STACK_FIELDS)))
        return (
            self._build_stack_profile(StackKind.ON_CPU, running, clock, on_cpu, running.samples * clock),
            self._build_stack_profile(StackKind.OFF_CPU, waiting, apart, off_cpu, waiting.stacks.total() * apart),
        )

    def count_python_lines(self) -> tuple[PythonLine, ...]:
        """Return the faults of the lines of a Python program, counted in one execution; none if it fails."""
        recorder = PythonLineRecorder(self.trial.tree)
        variables = recorder.add_variables(self.trial.variables)
        try:
            self.trial.execute(recording=Recording((), (recorder,), variables=variables))
        except ExecutionFailure as failure:
            self.remarks.append(f"the faults of the Python lines could not be counted: {failure}"[:1000])
        return recorder.lines

    def _follow_compiled_code(self) -> CompiledCode:
        """Return what names the functions that one execution compiles."""
        code = CompiledCode(is_private=self.trial.sandbox is not None)
        self.cleanup.callback(code.remove_maps)
        return code

    def _execute_recorded(self, plans: Sequence[RecordPlan], *tracers: Tracer) -> Sample:
        """Execute the case with what records it, while its runtime writes the names of what it compiles."""
        return self.trial.execute(
            recording=Recording(tuple(plans), tracers, variables=add_map_variables(self.trial.variables))
        )

    def _read_events(self, file: Path, *fields: str) -> Iterator[Event]:
        return read_events(file, *fields, within=self.within)

    def _build_stack_profile(
        self, kind: StackKind, weighed: Weighed, period: int, file: Path, total: int
    ) -> StackProfile:
        """Return folded stacks as a profile of one kind."""
        if has_no_callers(weighed):
            self.without_callers.append(kind)
        return self.table.build_stack_profile(
            kind, weighed, total, period=period, call_graph=self.call_graph, recorded_bytes=file.stat().st_size
        )


def collect_profile(
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
    # Count once without recording, for the expected numbers and the references.
    started_at = datetime.now(UTC)
    permissions = detect_recording_permissions()
    progress("counting")
    restore_tree(trial.tree)
    if not trial.is_cold:
        trial.warm_up()
    counted = trial.execute()
    references = _measure_references(trial, progress)
    expected = compute_expected_counts(counted.processes[0] if counted.processes else counted.readings)
    # Record: the faults, then the CPU time and the waiting.
    chosen, reason = (call_graph, ()) if call_graph else choose_unwinding(trial)
    with make_scratch_folder() as folder, ExitStack() as cleanup:
        collector = Collector.for_trial(trial, chosen, permissions, folder, cleanup)
        collector.remarks += (*reason, *permissions.remarks)
        progress("recording faults")
        faults, anatomy, census, recorded = collector.record_faults(expected)
        lines: tuple[PythonLine, ...] = ()
        if _get_scope(trial.workload) == "process" and executes_python(trial.mapped_files):
            progress("counting the faults of Python lines")
            lines = collector.count_python_lines()
        on_cpu = off_cpu = None
        if times:
            progress("recording CPU time and waiting")
            on_cpu, off_cpu = collector.record_times(expected)
    # Assemble the profile, with paths relative to the tree.
    root = f"{trial.tree.absolute()}/"
    frames = tuple(_make_frame_relative(frame, root) for frame in collector.table.frames)
    collector.remarks += describe_missing_callers(collector.without_callers, chosen)
    collector.remarks += describe_missing_symbols(frames, trial.tree)
    return Profile(
        profile_id=uuid.uuid4(),
        subject=trial.subject.name,
        revision=trial.subject.revision,
        case=trial.subject.case,
        host=trial.host,
        environment=trial.environment,
        runner_version=get_version(),
        started_at=started_at,
        finished_at=datetime.now(UTC),
        scope=_get_scope(trial.workload),
        processes=trial.processes,
        operations=_compute_operations(counted.readings),
        readings=counted.readings,
        references=references,
        overhead_percent=_compute_overhead_percent(counted.readings, recorded.readings),
        frames=frames,
        faults=faults,
        on_cpu=on_cpu,
        off_cpu=off_cpu,
        anatomy=_make_anatomy_relative(anatomy, root),
        census=census,
        python_lines=lines,
        remarks=tuple(remark[:1000] for remark in collector.remarks[:100]),
    )


def _make_frame_relative(frame: contract.Frame, root: str) -> contract.Frame:
    return frame.model_copy(
        update={"module": make_relative(frame.module, root), "file": make_relative(frame.file, root)}
    )


def _make_anatomy_relative(anatomy: Anatomy, root: str) -> Anatomy:
    sites, major_sites = (
        tuple(
            site.model_copy(
                update={"frame": _make_frame_relative(site.frame, root), "file": make_relative(site.file, root)}
            )
            for site in places
        )
        for places in (anatomy.sites, anatomy.major_sites)
    )
    areas = tuple(area.model_copy(update={"name": make_relative(area.name, root)}) for area in anatomy.areas)
    kinds = tuple(kind.model_copy(update={"file": make_relative(kind.file, root)}) for kind in anatomy.kinds)
    return anatomy.model_copy(update={"sites": sites, "major_sites": major_sites, "areas": areas, "kinds": kinds})


def compute_expected_counts(readings: Mapping[str, Reading]) -> ExpectedCounts:
    """Return the counts to expect of an execution, from the readings of a counted one."""
    return ExpectedCounts(
        faults=int(_get_value(readings, "page-faults") or 0),
        switches=int(_get_value(readings, "context-switches") or 0),
        cpu_seconds=_get_value(readings, "task-clock") or 0.0,
    )


def _measure_references(trial: Trial, progress: Progress) -> dict[str, dict[str, Reading]]:
    """Execute the references for the case: one process if it has several, warm files if it has cold ones."""
    references = {}
    if trial.processes > 1:
        progress("counting one process alone")
        references["alone"] = dict(trial.execute(processes=1).readings)
    if trial.is_cold:
        progress("counting with warm files")
        references["warm"] = dict(trial.execute(as_left=True).readings)
    return references


def _get_value(readings: Mapping[str, Reading], name: str) -> float | None:
    """Return the value of a metric in the region, or else in the whole process."""
    for key in (f"region:{name}", name):
        reading = readings.get(key)
        if reading is not None and reading.value is not None:
            return reading.value
    return None


def _get_scope(workload: Workload) -> ProfileScope:
    if workload.server:
        return "windows"
    return "region" if workload.run.region else "process"


def _compute_operations(readings: Mapping[str, Reading]) -> float | None:
    """Return the operations of the program, from its faults and its faults per operation."""
    per_operation, minor = _get_value(readings, "faults-per-operation"), readings.get("page-faults")
    if not per_operation or minor is None or not minor.value:
        return None
    return float(minor.value / per_operation)


def _compute_overhead_percent(counted: Mapping[str, Reading], recorded: Mapping[str, Reading]) -> float | None:
    """Return the overhead in CPU time, because elapsed time depends on the rest of the host."""
    before, after = _get_value(counted, "task-clock"), _get_value(recorded, "task-clock")
    return 100 * (after - before) / before if before and after is not None else None
