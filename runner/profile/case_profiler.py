"""Profiles one case: executes it to count faults, to record faults and their stacks, and to record CPU time and waits.

Recordings are read in the background during the next execution.
"""

import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from runner.contract import profile as contract
from runner.contract.profile import (
    AllocatingLine,
    Anatomy,
    Census,
    Profile,
    ProfileScope,
    PythonLine,
    Site,
    StackKind,
    StackProfile,
)
from runner.contract.report import Reading, Sample
from runner.execution.confined_readers import build_reader_prefix
from runner.installed_version import get_version
from runner.measuring.trial import Trial
from runner.perf.attached_recorder import Recording, RecordPlan, Tracer
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.niceness import lower_priority
from runner.profile import perf_record_options
from runner.profile.anatomy import AnatomyBuilder
from runner.profile.compiled_code import CompiledCode, add_map_variables
from runner.profile.elf import contains_symbol, is_32_bit
from runner.profile.fault_access import FaultAccess
from runner.profile.fault_place_lines import locate_places
from runner.profile.java_lines import JavaLineRecorder, find_jfr, parse_allocations, print_allocations
from runner.profile.labels import cut_remarks
from runner.profile.missing_names_and_callers import (
    describe_functions_without_lines,
    describe_missing_callers,
    describe_missing_symbols,
    has_no_callers,
)
from runner.profile.perf_record_options import CallGraph, ExpectedCounts
from runner.profile.permissions import RecordingPermissions, detect_recording_permissions
from runner.profile.python_lines import PythonLineRecorder, executes_python, may_count_lines
from runner.profile.recorded_system_calls import find_call_numbers
from runner.profile.recording_reader import (
    ADDRESS_FIELDS,
    CALL_FIELDS,
    FAULT_STACK_FIELDS,
    STACK_FIELDS,
    TRACE_FIELDS,
    count_calls,
    read_events,
)
from runner.profile.requested_and_returned_memory import MemoryCalls
from runner.profile.script_parser import Event
from runner.profile.source_lines import SourceLineCache
from runner.profile.stack_folding import (
    FrameTable,
    WeightedStacks,
    count_stacks,
    make_path_relative,
    sum_blocked_time,
)
from runner.profile.stack_unwinding import choose_unwinding
from runner.profile.strace_recording import StraceRecording
from runner.profile.type_layouts import TypeLayoutCache
from runner.subject.session_tree_restorer import restore_tree
from runner.system.scratch import make_scratch_folder
from runner.workload import Workload

Progress = Callable[[str], None]
_FaultStacks = dict[StackKind, StackProfile]
"""The profiles of the stacks of faults, and of the system calls that led to them, by their kinds."""

_READER_NICENESS = 10
"""The nice value of the thread that reads recordings. It has a tenth of the weight of the program that is recorded
meanwhile, so it takes little time from it. At the lowest priority, reading would hardly proceed on a busy host."""


def _lower_thread_priority() -> None:
    lower_priority(threading.get_native_id(), _READER_NICENESS)


class Collector(Struct):
    """Collects the parts of one profile.

    Attributes
    ----------
    call_numbers
        The system calls that perf records, by their numbers; empty if strace must record them.
    scratch
        The folder for perf's recordings.
    sandbox_prefix
        The words that precede commands that read recordings and binaries, see :func:`build_reader_prefix`.
    frame_table
        The frames of all stacks.
    reader
        Reads recordings, one at a time, while the program is executed once more.
    cleanup
        Removes the recordings, and what runtimes have written for them, when it is closed.
    without_callers
        The kinds of stacks of which nearly all have only a single frame.
    """

    trial: Trial
    call_graph: CallGraph
    permissions: RecordingPermissions
    call_numbers: Mapping[int, str]
    scratch: Path
    sandbox_prefix: list[str]
    frame_table: FrameTable
    reader: ThreadPoolExecutor
    cleanup: ExitStack
    remarks: list[str] = field(default_factory=list)
    without_callers: list[StackKind] = field(default_factory=list)

    @classmethod
    def for_trial(cls, trial: Trial, call_graph: CallGraph, profiling: "Profiling") -> "Collector":
        """Return a new, empty collector for the profile of a trial."""
        scratch = profiling.cleanup.enter_context(make_scratch_folder())
        reader = profiling.cleanup.enter_context(
            ThreadPoolExecutor(1, "profile-reader", initializer=_lower_thread_priority)
        )
        sandbox_prefix = build_reader_prefix(trial.sandbox, scratch, trial.tree)
        frame_table = FrameTable(partial(profiling.source_lines.find, sandbox_prefix=sandbox_prefix))
        # The numbers of calls are those of 64-bit programs; strace knows the others.
        has_known_numbers = profiling.permissions.tracepoints and not any(map(is_32_bit, trial.mapped_files))
        return cls(
            trial=trial,
            call_graph=call_graph,
            permissions=profiling.permissions,
            call_numbers=find_call_numbers(os.uname().machine) if has_known_numbers else {},
            scratch=scratch,
            sandbox_prefix=sandbox_prefix,
            frame_table=frame_table,
            reader=reader,
            cleanup=profiling.cleanup,
        )

    def record_faults(self, expected_counts: ExpectedCounts) -> tuple[Sample, Future[tuple[Anatomy, Census]]]:
        """Record faults with their addresses in one execution; return its sample, and a future of what was recorded.

        The recording is read in the background. The result is the anatomy of the faults and the census of the calls
        that map memory. The stacks of the faults are recorded in another execution, because kernels confuse two events
        that sample the same fault.
        """
        faults_file = self.scratch / "faults.data"
        period = perf_record_options.compute_faults_period(expected_counts)
        options = perf_record_options.build_faults_options(
            period,
            error_codes=self.permissions.error_codes,
            call_numbers=self.call_numbers,
        )
        plans = [RecordPlan(options, faults_file)]
        # If only some faults are recorded, the calls need a separate recording, because every call must be recorded.
        calls_file = self.scratch / "calls.data" if period > 1 and self.call_numbers else None
        if calls_file:
            plans.append(RecordPlan(perf_record_options.build_calls_options(self.call_numbers), calls_file))
            self.remarks.append(
                f"only one fault in {period} was recorded, so it is unknown which pages had already been touched"
            )
        strace = None if self.call_numbers else StraceRecording(self.scratch / "calls.strace")
        compiled_code = self._follow_compiled_code()
        tracers: list[Tracer] = [compiled_code]
        if strace:
            tracers.append(strace)
        sample = self._execute_with_recorders(plans, *tracers)

        def read_faults_and_calls() -> tuple[Anatomy, Census]:
            """Read the recording; return the anatomy of its faults and the census of its calls."""
            anatomy_builder = self._collect_events(period, faults_file, calls_file, strace, compiled_code)
            census = anatomy_builder.build_census("strace" if strace else "tracepoints")
            anatomy = anatomy_builder.build_anatomy(_count_faults(sample), partial(locate_places, self.frame_table))
            return anatomy, census

        return sample, self.reader.submit(read_faults_and_calls)

    def _collect_events(
        self,
        period: int,
        faults_file: Path,
        calls_file: Path | None,
        strace: StraceRecording | None,
        compiled_code: CompiledCode,
    ) -> AnatomyBuilder:
        """Return a builder that has read the recorded faults and the calls that map memory.

        Parameters
        ----------
        period
            The number of faults for which one fault was recorded.
        faults_file
            perf's recording of the faults. It contains the calls too if there are tracepoints and each fault was
            recorded.
        calls_file
            perf's recording of the calls, if there are tracepoints but only some faults were recorded; otherwise None.
        strace
            The recording of the calls by strace if there are no tracepoints; otherwise None.
        """
        anatomy_builder = AnatomyBuilder(period, os.sysconf("SC_PAGE_SIZE"), FaultAccess(os.uname().machine))
        trace_fields = TRACE_FIELDS if self.permissions.tracepoints else ()
        anatomy_builder.add_events(
            compiled_code.name_functions(self._read_events(faults_file, *ADDRESS_FIELDS, *trace_fields)),
            strace.read_calls() if strace else (),
        )
        if calls_file:
            anatomy_builder.add_calls(self._read_events(calls_file, *CALL_FIELDS))
        return anatomy_builder

    def record_fault_stacks(self, expected_counts: ExpectedCounts, n_counted: int) -> Future[_FaultStacks]:
        """Record in one execution the stacks of faults, and of the system calls that request memory or give it back.

        Return a future of the profiles by their kinds; that of the faults is scaled to ``n_counted``. The profiles of
        the system calls are missing if no faults follow from any, or if there are too many calls.
        """
        stacks_file = self.scratch / "stacks.data"
        period = perf_record_options.compute_stacks_period(
            expected_counts.faults, perf_record_options.MAX_FAULT_STACKS[self.call_graph]
        )
        n_calls = self._count_recorded_calls() if self.call_numbers else None
        with_calls = n_calls is not None and n_calls <= perf_record_options.MAX_CALL_STACKS[self.call_graph]
        n_stacks = expected_counts.faults // period + (n_calls or 0) * with_calls
        recorded_calls = self.call_numbers if with_calls else {}
        options = perf_record_options.build_fault_stack_options(period, self.call_graph, recorded_calls)
        expected_bytes = perf_record_options.estimate_stack_bytes(n_stacks, 1, self.call_graph)
        compiled_code = self._follow_compiled_code()
        self._execute_with_recorders([RecordPlan(options, stacks_file, expected_bytes)], compiled_code)

        def read_fault_stacks() -> _FaultStacks:
            """Read the recording; return the profiles of its stacks."""
            calls = MemoryCalls(os.sysconf("SC_PAGE_SIZE"), has_every_fault=period == 1)
            events = compiled_code.name_functions(self._read_events(stacks_file, *FAULT_STACK_FIELDS))
            fault_stacks = count_stacks(calls.follow(events))
            profiles = {
                StackKind.FAULTS: self._build_stack_profile(
                    StackKind.FAULTS, fault_stacks, period, stacks_file, n_counted
                )
            }
            for kind, stacks in ((StackKind.RETURNED, calls.returned), (StackKind.REQUESTED, calls.requested)):
                if stacks.samples:
                    n_faults = stacks.samples * period
                    profiles[kind] = self._build_stack_profile(kind, stacks, period, stacks_file, n_faults)
            return profiles

        return self.reader.submit(read_fault_stacks)

    def _count_recorded_calls(self) -> int | None:
        """Return how many system calls were recorded with the faults; None if perf does not say it."""
        calls_file = self.scratch / "calls.data"
        file = calls_file if calls_file.exists() else self.scratch / "faults.data"
        return count_calls(file, sandbox_prefix=self.sandbox_prefix)

    def record_times(self, expected_counts: ExpectedCounts) -> Future[tuple[StackProfile, StackProfile]]:
        """Record in one execution where CPU time is spent and where threads wait; return a future of both profiles."""
        on_cpu_file = self.scratch / "on-cpu.data"
        off_cpu_file = self.scratch / "off-cpu.data"
        clock_period = perf_record_options.compute_clock_period(expected_counts, self.call_graph)
        switch_period = perf_record_options.compute_stacks_period(
            expected_counts.switches, perf_record_options.MAX_STACKS[self.call_graph]
        )
        plans = (
            RecordPlan(
                perf_record_options.build_stack_options("cpu-clock", clock_period, self.call_graph), on_cpu_file
            ),
            RecordPlan(
                (
                    *perf_record_options.build_stack_options("context-switches", switch_period, self.call_graph),
                    "--switch-events",
                ),
                off_cpu_file,
            ),
        )
        compiled_code = self._follow_compiled_code()
        self._execute_with_recorders(plans, compiled_code)

        def read_times() -> tuple[StackProfile, StackProfile]:
            """Return the profiles of CPU time and of waiting time, both in nanoseconds."""
            running_stacks = count_stacks(compiled_code.name_functions(self._read_events(on_cpu_file, *STACK_FIELDS)))
            waiting_stacks = sum_blocked_time(
                compiled_code.name_functions(self._read_events(off_cpu_file, *STACK_FIELDS))
            )
            # A sample on a CPU stands for ``clock_period`` nanoseconds. Off CPU, one in ``switch_period`` context
            # switches is recorded, so the blocked time of those recorded is multiplied by it.
            running_time = running_stacks.samples * clock_period
            waiting_time = waiting_stacks.stacks.total() * switch_period
            return (
                self._build_stack_profile(StackKind.ON_CPU, running_stacks, clock_period, on_cpu_file, running_time),
                self._build_stack_profile(StackKind.OFF_CPU, waiting_stacks, switch_period, off_cpu_file, waiting_time),
            )

        return self.reader.submit(read_times)

    def count_python_lines(self) -> tuple[PythonLine, ...]:
        """Execute a Python program once to count the faults of its lines, and return these; empty if it fails."""
        recorder = PythonLineRecorder(self.trial.tree)
        self._execute_with_line_recorder(recorder, "the faults of individual Python lines could not be counted")
        return recorder.lines

    def record_java_lines(self, jfr: Path) -> Future[tuple[AllocatingLine, ...]]:
        """Record the allocations of a Java program in one execution; return a future of its lines, empty on failure."""
        recorder = JavaLineRecorder(self.trial.tree)
        self._execute_with_line_recorder(recorder, "the allocations of individual Java lines could not be recorded")
        recording = self.scratch / "allocations.jfr"
        recording.write_bytes(recorder.recording)

        def read_allocating_lines() -> tuple[AllocatingLine, ...]:
            text = print_allocations(jfr, recording, self.sandbox_prefix)
            return parse_allocations(text, self.trial.tree.absolute())

        return self.reader.submit(read_allocating_lines)

    def _execute_with_line_recorder(self, recorder: PythonLineRecorder | JavaLineRecorder, obstacle: str) -> None:
        """Execute the case while its runtime records lines; on failure, add a remark that begins with ``obstacle``."""
        variables = recorder.add_variables(self.trial.variables)
        try:
            self.trial.execute(recording=Recording((), (recorder,), variables=variables))
        except ExecutionFailure as failure:
            self.remarks.append(f"{obstacle}: {failure}")

    def _follow_compiled_code(self) -> CompiledCode:
        """Return the object that names the functions that a runtime compiles during one execution."""
        compiled_code = CompiledCode(is_private=self.trial.sandbox is not None)
        self.cleanup.callback(compiled_code.remove_maps)
        return compiled_code

    def _execute_with_recorders(self, plans: Sequence[RecordPlan], *tracers: Tracer) -> Sample:
        """Execute the case under recorders and tracers, while its runtime writes the names of the code it compiles."""
        return self.trial.execute(
            recording=Recording(tuple(plans), tracers, variables=add_map_variables(self.trial.variables))
        )

    def _read_events(self, file: Path, *fields: str) -> Iterator[Event]:
        return read_events(file, *fields, sandbox_prefix=self.sandbox_prefix)

    def _build_stack_profile(
        self, kind: StackKind, weighted_stacks: WeightedStacks, period: int, file: Path, total: int
    ) -> StackProfile:
        """Return stacks folded into a profile of one kind, and remember the kind if nearly all stacks lack callers."""
        if has_no_callers(weighted_stacks):
            self.without_callers.append(kind)
        return self.frame_table.build_stack_profile(
            kind, weighted_stacks, total, period=period, call_graph=self.call_graph, recorded_bytes=file.stat().st_size
        )


@contextmanager
def open_profiling() -> Iterator["Profiling"]:
    """Yield an object that profiles cases one after the other; remove all recordings at the end of the context."""
    with ExitStack() as cleanup:
        yield Profiling(detect_recording_permissions(), cleanup)


class Profiling(Struct, frozen=True):
    """Profiles several cases: while one is executed, the recordings of the previous one are read."""

    permissions: RecordingPermissions
    cleanup: ExitStack
    source_lines: SourceLineCache = field(default_factory=SourceLineCache)
    type_layouts: TypeLayoutCache = field(default_factory=TypeLayoutCache)

    def record_case(
        self,
        trial: Trial,
        *,
        call_graph: CallGraph | None = None,
        with_times: bool = True,
        counted_sample: Sample | None = None,
        progress: Progress = lambda _: None,
    ) -> Callable[[], Profile]:
        """Execute a case as often as its profile needs; return a function that waits for the profile and returns it.

        Parameters
        ----------
        call_graph
            How perf unwinds stacks; by default what the program's files allow.
        with_times
            Whether to record CPU time and waiting as well as faults.
        counted_sample
            A sample that this trial has just taken, if any: the executions that warm up and count are then left out.

        Raises
        ------
        ExecutionFailure
            If the program fails.
        FaultwatchError
            If the host forbids it. The returned function raises it if perf's output cannot be parsed.
        """
        # Count once without recording, to know the expected numbers of events, and count the references.
        started_at = datetime.now(UTC)
        restore_tree(trial.tree)
        if counted_sample is None:
            progress("counting")
            if not trial.is_cold:
                trial.warm_up()
            counted_sample = trial.execute()
        references = _measure_references(trial, progress)
        expected_counts = compute_expected_counts(_get_recorded_readings(counted_sample))
        # Record: the faults, the lines of runtimes, then the CPU time and the waiting.
        unwinding_remarks: tuple[str, ...] = ()
        if call_graph:
            chosen_graph = call_graph
        else:
            chosen_graph, unwinding_remarks = choose_unwinding(trial)
        collector = Collector.for_trial(trial, chosen_graph, self)
        collector.remarks += (*unwinding_remarks, *self.permissions.remarks)
        # The types are read by a process of its own, so they need not wait for the recordings.
        type_reader = self.cleanup.enter_context(
            ThreadPoolExecutor(1, "type-reader", initializer=_lower_thread_priority)
        )
        pending_types = type_reader.submit(self.type_layouts.read, trial.own_files, trial.tree, trial.sandbox)
        progress("recording faults")
        recorded_sample, pending_anatomy = collector.record_faults(expected_counts)
        pending_faults = collector.record_fault_stacks(expected_counts, _count_faults(recorded_sample))
        python_lines: tuple[PythonLine, ...] = ()
        pending_java_lines: Future[tuple[AllocatingLine, ...]] | None = None
        if may_count_lines(_get_scope(trial.workload)):
            if executes_python(trial.mapped_files):
                progress("counting the faults of Python lines")
                python_lines = collector.count_python_lines()
            if jfr := find_jfr(trial.mapped_files):
                progress("recording which Java lines allocate")
                pending_java_lines = collector.record_java_lines(jfr)
        pending_times: Future[tuple[StackProfile, StackProfile]] | None = None
        if with_times:
            progress("recording CPU time and waiting")
            pending_times = collector.record_times(expected_counts)
        finished_at = datetime.now(UTC)

        def assemble_profile() -> Profile:
            """Assemble the profile, with paths relative to the tree."""
            anatomy, census = pending_anatomy.result()
            fault_stacks = pending_faults.result()
            faults = fault_stacks[StackKind.FAULTS]
            on_cpu, off_cpu = pending_times.result() if pending_times else (None, None)
            root = f"{trial.tree.absolute()}/"
            frames = tuple(_make_frame_relative(frame, root) for frame in collector.frame_table.frames)
            collector.remarks += describe_missing_callers(collector.without_callers, chosen_graph)
            collector.remarks += describe_missing_symbols(frames, trial.tree)
            recorded_stacks = [profile for profile in (faults, on_cpu) if profile]
            collector.remarks += describe_functions_without_lines(recorded_stacks, frames, trial.tree)
            return Profile(
                profile_id=uuid.uuid4(),
                subject=trial.subject.name,
                revision=trial.subject.revision,
                case=trial.subject.case,
                host=trial.host,
                environment=trial.environment,
                runner_version=get_version(),
                started_at=started_at,
                finished_at=finished_at,
                scope=_get_scope(trial.workload),
                processes=trial.processes,
                operations=_compute_operations(counted_sample.readings),
                readings=counted_sample.readings,
                references=references,
                overhead_percent=_compute_overhead_percent(counted_sample.readings, recorded_sample.readings),
                frames=frames,
                faults=faults,
                on_cpu=on_cpu,
                off_cpu=off_cpu,
                returned=fault_stacks.get(StackKind.RETURNED),
                requested=fault_stacks.get(StackKind.REQUESTED),
                anatomy=_make_anatomy_relative(anatomy, root),
                census=census,
                python_lines=python_lines,
                java_lines=pending_java_lines.result() if pending_java_lines else (),
                types=pending_types.result(),
                calls_mallopt=any(contains_symbol(file, "mallopt") for file in trial.own_files),
                remarks=cut_remarks(collector.remarks),
            )

        return assemble_profile


def collect_profile(
    trial: Trial,
    *,
    call_graph: CallGraph | None = None,
    with_times: bool = True,
    counted_sample: Sample | None = None,
    progress: Progress = lambda _: None,
) -> Profile:
    """Record one case as :meth:`Profiling.record_case` does, wait for its profile, and return it."""
    with open_profiling() as profiling:
        wait_for_profile = profiling.record_case(
            trial, call_graph=call_graph, with_times=with_times, counted_sample=counted_sample, progress=progress
        )
        return wait_for_profile()


def _make_frame_relative(frame: contract.Frame, root: str) -> contract.Frame:
    return frame.model_copy(
        update={"module": make_path_relative(frame.module, root), "file": make_path_relative(frame.file, root)}
    )


def _make_site_relative(site: Site, root: str) -> Site:
    return site.model_copy(
        update={"frame": _make_frame_relative(site.frame, root), "file": make_path_relative(site.file, root)}
    )


def _make_anatomy_relative(anatomy: Anatomy, root: str) -> Anatomy:
    """Return an anatomy in which files in the working tree have relative paths."""
    sites = tuple(_make_site_relative(site, root) for site in anatomy.sites)
    major_sites = tuple(_make_site_relative(site, root) for site in anatomy.major_sites)
    areas = tuple(area.model_copy(update={"name": make_path_relative(area.name, root)}) for area in anatomy.areas)
    kinds = tuple(kind.model_copy(update={"file": make_path_relative(kind.file, root)}) for kind in anatomy.kinds)
    return anatomy.model_copy(update={"sites": sites, "major_sites": major_sites, "areas": areas, "kinds": kinds})


def compute_expected_counts(readings: Mapping[str, Reading]) -> ExpectedCounts:
    """Return the counts to expect of an execution, from the readings of an execution that was only counted."""
    return ExpectedCounts(
        faults=int(_get_value(readings, "page-faults") or 0),
        switches=int(_get_value(readings, "context-switches") or 0),
        cpu_seconds=_get_value(readings, "task-clock") or 0.0,
    )


def _measure_references(trial: Trial, progress: Progress) -> dict[str, dict[str, Reading]]:
    """Return the readings of the reference executions, by name.

    They are one process if the case has several (``alone``), and warm files if the case is cold (``warm``).
    """
    references = {}
    if trial.processes > 1:
        progress("counting one process alone")
        references["alone"] = dict(trial.execute(n_processes=1).readings)
    if trial.is_cold:
        progress("counting with warm files")
        references["warm"] = dict(trial.execute(keep_page_cache=True).readings)
    return references


def _count_faults(sample: Sample) -> int:
    """Return the faults of an execution; with several processes, those of the first."""
    return compute_expected_counts(_get_recorded_readings(sample)).faults


def _get_recorded_readings(sample: Sample) -> Mapping[str, Reading]:
    """Return the readings of the process that is recorded: with several processes, those of the first."""
    return sample.processes[0] if sample.processes else sample.readings


def _get_value(readings: Mapping[str, Reading], name: str) -> float | None:
    """Return the value of a metric in the region, or else in the whole process; None if it was counted in neither."""
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
    """Return the number of operations, computed from faults and faults per operation; None if either is unknown."""
    faults_per_operation = _get_value(readings, "faults-per-operation")
    page_faults = readings.get("page-faults")
    if not faults_per_operation or page_faults is None or not page_faults.value:
        return None
    return float(page_faults.value / faults_per_operation)


def _compute_overhead_percent(
    counted_readings: Mapping[str, Reading], recorded_readings: Mapping[str, Reading]
) -> float | None:
    """Return by how many percent recording increased the CPU time; None if it is unknown for either execution.

    CPU time is compared because the elapsed time would depend on the other work of the host.
    """
    counted_seconds = _get_value(counted_readings, "task-clock")
    recorded_seconds = _get_value(recorded_readings, "task-clock")
    if not counted_seconds or recorded_seconds is None:
        return None
    return 100 * (recorded_seconds - counted_seconds) / counted_seconds
