"""Executes one case of one built revision, and creates its report."""

import os
import shlex
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.level import Number
from runner.contract.report import (
    Build,
    Case,
    Environment,
    Failure,
    Host,
    Outcome,
    Reading,
    Report,
    Revision,
    Sample,
    Stage,
)
from runner.contract.reused_counts import ReusedCounts
from runner.contract.run_id import make_run_id
from runner.dependencies.lookup_answers import AnsweredLookups
from runner.dependencies.lookup_tracing import LookupTracer
from runner.dependencies.recorded_lookups import Lookups, make_untraced_lookups
from runner.environment.build_tools import read_build_settings
from runner.environment.programs_and_libraries import read_run_settings
from runner.environment.secrets import hide_secrets
from runner.errors import FaultwatchError
from runner.execution.launcher import resolve_program
from runner.execution.requested_limits import compute_memory_limit, explain_too_many_processes
from runner.execution.sandbox import Sandbox
from runner.host.host_trust import HostTrust
from runner.installed_version import get_version
from runner.mapped_files.fault_kinds import add_fault_kinds
from runner.mapped_files.prepared_files import KnownFiles, TrialFiles, describe_page_cache
from runner.measuring.cold_files import OutsideError, make_files_cold
from runner.measuring.derived_metrics import derive_sample, locate_result_file
from runner.measuring.environment_change import require_unchanged_environment
from runner.measuring.process_totals import combine_processes
from runner.measuring.sampling import mark_outliers
from runner.perf.attached_recorder import Recording
from runner.perf.faults_by_file import FaultsByFile, FaultsByFileRecorder
from runner.perf.ignored_preloads import describe_unmapped_preload
from runner.perf.lost_programs import describe_hidden_programs
from runner.perf.perf_stat import count_processes
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.huge_pages import HugePages
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.process_state import ProcessState
from runner.servers.server_execution import ServerExecution, ServerOrder, start_server
from runner.servers.server_processors import split_processors
from runner.subject.execution_tree_restorer import TreeRestorer
from runner.subject.kept_files import KeepRules
from runner.subject.session_tree_restorer import read_build_start
from runner.system.tree import SettingValues, Tree
from runner.workload import Workload
from runner.workload.allocators import find_missing_library
from runner.workload.bound_case import BoundCase, bind_case
from runner.workload.workload_folder import get_build_path

_MAX_REPEATED_SECONDS = 5.0
"""A watched execution that took more seconds than this is not repeated."""


class Bench(Struct, frozen=True):
    """The host on which measurements are made, and its current environment.

    Attributes
    ----------
    variables
        Variables that the caller adds to the environment of every measured process.
    capture
        Returns the environment, given the complete state of the measured process.
    trust
        The results of the checks of the host before this session.
    cpus
        The processors to measure on; empty for all.
    sandbox
        The sandbox for the measured programs; None for no sandbox.
    known_files
        What the runner remembers about mapped files from one session to the next.
    """

    host: Host
    capture: Callable[[ProcessState], Environment]
    variables: Mapping[str, str] = field(default_factory=dict)
    trust: HostTrust = field(default_factory=HostTrust)
    cpus: frozenset[int] = frozenset()
    sandbox: Sandbox | None = None
    known_files: KnownFiles = field(default_factory=KnownFiles)

    def capture_environment(self, workload: Workload, case: Case) -> Environment:
        """Return the environment in which a case is measured now."""
        bound = bind_case(workload, case)
        state = self.make_process_state(bound)
        build_path, run_path = get_build_path(workload), state.environment["PATH"]
        if self.sandbox:
            # The PATH of an untrusted workload must not reveal which programs the host has elsewhere.
            build_path = self.sandbox.select_visible_path(build_path)
            run_path = self.sandbox.select_visible_path(run_path)
        file_settings: SettingValues = {
            **read_build_settings(
                workload.build.command or (), workload.build.needs, build_path, workload.build.environment
            ),
            **read_run_settings(Tree(), bound.command, run_path, bound.own_folder),
        }
        settings = {**self.capture(state).settings, **file_settings}
        return Environment(settings={name: value for name, value in sorted(settings.items()) if value is not None})

    def make_process_state(self, case: BoundCase) -> ProcessState:
        """Return the state in which a case's process starts."""
        limit = compute_memory_limit(case.memory_limit, self.sandbox.memory if self.sandbox else None)
        cpus = self.cpus
        if case.is_server:
            cpus, _ = split_processors(self._available_cpus)
        return ProcessState(
            variables={**case.variables, **self.variables},
            huge_pages=case.huge_pages,
            cpus=cpus,
            memory_limit=limit,
            page_cache=describe_page_cache(self.sandbox),
        )

    def choose_load_cpus(self, case: BoundCase) -> frozenset[int]:
        """Return the processors for the load generator of a server; empty if the case is not a server."""
        if not case.is_server:
            return frozenset()
        _, load_cpus = split_processors(self._available_cpus)
        return load_cpus

    @property
    def _available_cpus(self) -> frozenset[int]:
        return self.cpus or frozenset(os.sched_getaffinity(0))


class Subject(Struct, frozen=True):
    """The subject of a trial: a case of a revision, and how the revision was built."""

    name: str
    revision: Revision
    case: Case
    build: Build | None = None


class Trial:
    """One built case that can be executed any number of times, and that makes samples and their report.

    Raises
    ------
    FaultwatchError
        If the workload is invalid on this host.
    """

    def __init__(self, workload: Workload, subject: Subject, bench: Bench, tree: Path = Path()) -> None:
        """Prepare to execute a case of a workload; nothing is executed yet.

        Parameters
        ----------
        subject
            What is measured: the case, and the revision with its build.
        tree
            The folder in which the revision was built.

        Raises
        ------
        FaultwatchError
            The workload starts more processes than its sandbox allows.
        """
        self.workload = workload
        self.subject = subject
        self._bench = bench
        self._tree = tree
        self._case = bind_case(workload, subject.case)
        if objection := explain_too_many_processes(self._case.processes, sandboxed=bench.sandbox is not None):
            raise FaultwatchError(f"{workload.path}: [run] processes: {objection}")
        self._state = bench.make_process_state(self._case)
        self._load_cpus = bench.choose_load_cpus(self._case)
        self._cold_files = tuple(tree / name for name in self._case.cold_files)
        self._sandbox = bench.sandbox.add_readable_folder(self._case.own_folder) if bench.sandbox else None
        untouched_files = (*self._cold_files, *(tree / name for name in self._case.own_state_files))
        self._files = TrialFiles(
            tree, subject.case.name, bench.known_files, self._sandbox, untouched_files, began=read_build_start(tree)
        )
        result_file = os.path.normpath(workload.run.output_file) if workload.run.output_file else ""
        self._keep_rules = KeepRules(workload.run.keep, result_file)
        self._restorer = TreeRestorer(tree, self._keep_rules)
        self._was_renewed = False
        self._started_at = datetime.now(UTC)
        self._environment = bench.capture_environment(workload, subject.case)

    @property
    def obstacle(self) -> str:
        """Why the case cannot be measured on this host; empty if no reason is known before it is executed."""
        if self._case.memory_limit is not None and self._environment.settings.get(MemoryGroup.setting) == "none":
            return f"the memory limit cannot be set: {MemoryGroup.remedy}"
        actual_policy = self._environment.settings.get(HugePages.setting)
        match self._case.huge_pages:
            # The other policies are always possible: a process can set "never", and "host" is what the host has.
            case "madvise" | "always" as policy if actual_policy != policy:
                return f"the huge-page policy of this host is {actual_policy}, not {policy}: {HugePages(policy).remedy}"
        library = find_missing_library(self._case.allocator)
        return f"this host does not have the allocator's library, {library}" if library else ""

    @property
    def processes(self) -> int:
        """How many processes run at the same time."""
        return self._case.processes

    @property
    def is_cold(self) -> bool:
        """Whether files are evicted before each execution."""
        return bool(self._cold_files)

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that the case and the caller add to the standard ones."""
        return self._state.variables

    @property
    def environment(self) -> Environment:
        """The environment at the time when the trial was created."""
        return self._environment

    @property
    def host(self) -> Host:
        """The host on which the case is executed."""
        return self._bench.host

    @property
    def tree(self) -> Path:
        """The built work tree in which the case is executed."""
        return self._tree

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox that confines the case; None for no sandbox."""
        return self._sandbox

    @property
    def program(self) -> Path:
        """The file that the case's command executes."""
        path, _ = resolve_program(self._case.command[0], self._tree, self._state.environment["PATH"])
        return self._tree / path

    @property
    def own_files(self) -> list[Path]:
        """The program, and the files of the work tree that it has mapped."""
        tree = self._tree.resolve()
        return [self.program, *(path for path in self._files.paths if path.is_relative_to(tree))]

    @property
    def mapped_files(self) -> list[Path]:
        """The program, and all files that it has mapped."""
        return [self.program, *self._files.paths]

    @property
    def answered_lookups(self) -> AnsweredLookups:
        """The program's questions about files while it was watched, with the answers."""
        return self._files.answered

    def warm_up(self) -> None:
        """Execute the case, watch which files it maps and looks up, and prepare their state in the page cache.

        The executions are not samples. If files were unprepared during the first execution, or if it left files that
        stay, such as bytecode, a second one follows, unless the first took long. If some files cannot be prepared, two
        more executions show by how much their state in the page cache changes the faults.

        Raises
        ------
        ExecutionFailure, EvictionError, FaultwatchError
            As :meth:`execute` does.
        """
        self._files.prepare_expected_files(self.program)
        self._restorer.begin_session()
        for _ in range(2):
            began_at_ns, started_at = time.time_ns(), time.monotonic()
            faults, lookups = self._trace_execution()
            variables = self._state.environment
            if objection := describe_hidden_programs(faults) or describe_unmapped_preload(faults, variables):
                raise ExecutionFailure(f"`{shlex.join(self._case.command)}` {objection}", stage=Stage.MEASURE)
            leaves_files = self._leaves_files(lookups)
            had_unprepared_files = self._files.prepare_mapped_files(faults, lookups, began_at_ns)
            needs_repetition = leaves_files or had_unprepared_files
            if not needs_repetition or time.monotonic() - started_at > _MAX_REPEATED_SECONDS:
                break
        if not self._files.are_all_prepared:
            self._files.evict_unprepared_files()
            for _ in range(2):  # First with evicted files, then in the state in which the first execution left them.
                self._files.record_renewal(self._record_faults())

    def _leaves_files(self, lookups: Lookups) -> bool:
        """Return whether an execution has made files that stay, so that the next one may do less work."""
        prefix = f"{self._tree.resolve()}/"
        created_files = (path.removeprefix(prefix) for path in lookups.made_paths if path.startswith(prefix))
        return any(name != self._keep_rules.result and self._keep_rules.keeps(name) for name in created_files)

    def execute_untraced(self) -> Sample:
        """Execute the case once without tracing it, after preparing the files that it mapped in earlier executions.

        Raises
        ------
        ExecutionFailure, EvictionError, FaultwatchError
            As :meth:`execute` does.
        """
        self._files.prepare_expected_files(self.program)
        return self.execute()

    def renew_page_cache(self) -> None:
        """Renew the page-cache state of the files that could not be prepared: evict them, and execute the case once.

        Raises
        ------
        ExecutionFailure, EvictionError, FaultwatchError
            As :meth:`execute` does.
        """
        self._files.evict_unprepared_files()
        self._was_renewed = True
        self.execute()

    def _trace_execution(self) -> tuple[FaultsByFile | None, Lookups]:
        """Execute the case once while its file lookups are traced; return its faults and its lookups.

        If the program fails while it is traced, for example because it uses ptrace itself, it is executed again without
        the tracer, and its case is never traced again. If something else than the tracer killed it, the failure is
        raised instead: it would be killed once more, or fail because of the files that it left behind.

        Raises
        ------
        ExecutionFailure, EvictionError, FaultwatchError
            As :meth:`execute` does.
        """
        reasons = self._bench.known_files.untraced_reasons
        case = self.subject.case.name
        if case in reasons:
            return self._record_faults(), make_untraced_lookups(reasons[case])
        with LookupTracer(is_launched=True, is_counted=True) as tracer:
            try:
                return self._record_faults(tracer), tracer.read_lookups()
            except ExecutionFailure as failure:
                # With a memory limit, a program killed by the tracer looks as if the kernel had killed it.
                if failure.was_stopped and not tracer.has_killed_command():
                    raise
                problem = f"it fails while it is traced: {failure.message}"
        faults = self._record_faults()
        reasons[case] = problem
        return faults, make_untraced_lookups(problem)

    def _record_faults(self, tracer: LookupTracer | None = None) -> FaultsByFile | None:
        """Execute the case once while all faults are recorded; return them by file, or None if that is impossible."""
        recorder = FaultsByFileRecorder()
        self.execute(recording=Recording((), (recorder,), tracer))
        return recorder.get_result()

    def execute(
        self, *, recording: Recording | None = None, n_processes: int | None = None, keep_page_cache: bool = False
    ) -> Sample:
        """Execute the case once: a program, or a server from its start to its stop with all its windows.

        Parameters
        ----------
        recording
            What to record during the execution, which then is not a sample.
        n_processes
            How many processes to run at the same time; by default as many as the case says. Not for servers.
        keep_page_cache
            Whether to keep the page cache as the previous execution left it, even for a cold case. Not for servers.

        Raises
        ------
        ExecutionFailure
            If the program fails.
        EvictionError
            If files of a cold case stay in memory.
        FaultwatchError
            If measuring is impossible on this host.
        """
        if self.workload.server:
            with self.start_server(recording) as server:
                return server.run()
        self._restore_tree()
        if not keep_page_cache:
            self._make_files_cold()
        if self.workload.run.output_file is not None:
            self._remove_result(self.workload.run.output_file)
        group_execution = count_processes(
            self._case.command,
            directory=self._tree,
            state=self._choose_state(recording),
            timeout=self.workload.workload.timeout,
            events=self.workload.metrics.events,
            region=self.workload.run.region,
            sandbox=self._sandbox,
            n_processes=n_processes or self._case.processes,
            recording=recording,
            copies=self._files.copies,
        )
        samples = [derive_sample(execution, self.workload, self._tree) for execution in group_execution.executions]
        return combine_processes(samples, group_execution.group_readings)

    @contextmanager
    def start_server(self, recording: Recording | None = None) -> Iterator[ServerExecution]:
        """Start the server of the case, and stop it when the context ends; the caller runs the load.

        To measure one start of a server, from its start to its stop, call :meth:`execute`.

        Raises
        ------
        ExecutionFailure, EvictionError, FaultwatchError
            As :meth:`execute` does.
        """
        self._restore_tree()
        self._make_files_cold()
        # A recording without plans only watches which files the server maps, for which one window is enough.
        is_watched = recording is not None and not recording.plans
        order = ServerOrder(
            self.workload,
            self.subject.case,
            self._tree,
            self._choose_state(recording),
            load_cpus=self._load_cpus,
            sandbox=self._sandbox,
            recording=recording,
            copies=self._files.copies,
            n_windows=1 if is_watched else None,
        )
        with start_server(order) as execution:
            yield execution

    def _choose_state(self, recording: Recording | None) -> ProcessState:
        """Return the state in which the program starts, with the variables of the recording if that has any."""
        if recording is None or recording.variables is None:
            return self._state
        return replace(self._state, variables=recording.variables)

    def can_run_at_once(self, other_trial: "Trial") -> bool:
        """Return whether the servers of two trials can run at the same time.

        They need separate trees, because these contain their data, and the same policy of huge pages, because that may
        be a setting of the whole host.
        """
        is_apart = self._tree != other_trial._tree and self._case.huge_pages == other_trial._case.huge_pages
        return self.workload.server is not None and is_apart

    def replace_workload(self, workload: Workload) -> "Trial":
        """Return a trial of the same build and case with another workload."""
        return Trial(workload, self.subject, self._bench, self._tree)

    def share_restorer(self, other_trial: "Trial") -> None:
        """Use the other trial's restorer if both have the same tree, so that each execution undoes all changes."""
        if self._tree == other_trial._tree:
            self._restorer = other_trial._restorer

    def _restore_tree(self) -> None:
        """Undo what the last execution changed in the tree."""
        self._files.prepare_restored_files(self._restorer.restore())

    def _remove_result(self, name: str) -> None:
        """Remove the result file of an earlier execution, so that it is not taken for that of the next execution.

        Raises
        ------
        ExecutionFailure
            It cannot be removed, or is outside of the build.
        """
        try:
            locate_result_file(self._tree, name).unlink(missing_ok=True)
        except NotADirectoryError:
            pass  # Treated as missing.
        except OSError as error:
            raise ExecutionFailure(f"the result file {name} cannot be removed: {error.strerror}") from None

    def _make_files_cold(self) -> None:
        """Evict the files that a cold case names, before an execution.

        Raises
        ------
        ExecutionFailure
            A file does not exist, cannot be opened, or is outside of the build of untrusted code.
        EvictionError
            A file stays in memory.
        """
        try:
            make_files_cold(self._cold_files, allowed_folder=self._tree if self.sandbox else None)
        except FileNotFoundError as error:
            name = os.path.relpath(error.filename, self._tree)
            raise ExecutionFailure(f"[run] files: {name} does not exist in this revision") from None
        except OutsideError as error:
            raise ExecutionFailure(f"[run] files: {error}") from None
        except OSError as error:
            raise ExecutionFailure(f"[run] files: {error.filename}: {error.strerror}") from None

    def build_measured_report(self, samples: Sequence[Sample], session: uuid.UUID | None = None) -> Report:
        """Return the report of some samples, with the outliers marked.

        Raises
        ------
        InvalidSession
            If the environment has changed since before the samples.
        """
        require_unchanged_environment(
            self._environment, self._bench.capture_environment(self.workload, self.subject.case)
        )
        self._files.mark_changed_files()
        if not self.workload.server:  # Of a server, the watched execution covers its whole life, not only the windows.
            samples = add_fault_kinds(samples, self._files.faults, self._case.processes)
        return self._make_report(Outcome.MEASURED, samples=mark_outliers(samples), session=session)

    def build_reused_report(self, source: Report, counts: Mapping[str, Number]) -> Report | None:
        """Return the report of this revision with the counts of ``source``, a run with the same bytes.

        Return None if the case has an obstacle, if the environment has changed since that run, or for a cold case,
        whose files are evicted before each execution.
        """
        if self.obstacle or self.is_cold or self._environment.hash != source.environment.hash:
            return None
        sample = Sample(readings={name: Reading(value=value) for name, value in counts.items()})
        report = self._make_report(Outcome.MEASURED, samples=(sample,))
        origin = ReusedCounts(run_id=source.run_id, commit=source.revision.commit)
        return report.model_copy(update={"files": source.files, "remarks": source.remarks, "reused": origin})

    def build_skipped_report(self, reason: str, *, temporary: bool = False) -> Report:
        """Return the report that the case cannot be measured on this host."""
        reason = hide_secrets(reason, self._state.variables)  # It can quote the failure of the other side.
        failure = Failure(stage=Stage.RUN, message=reason[:MAX_LINE_CHARACTERS], temporary=temporary)
        return self._make_report(Outcome.SKIPPED, failure=failure)

    def build_failure_report(self, stage: Stage, message: str, log: str, *, temporary: bool = False) -> Report:
        """Return the report that the build or the program failed.

        Parameters
        ----------
        temporary
            Whether the state of this host is the reason, so that another attempt can succeed.
        """
        message, log = (hide_secrets(text, self._state.variables) for text in (message, log))
        failure = Failure(stage=stage, message=message[:MAX_LINE_CHARACTERS], log=log, temporary=temporary)
        return self._make_report(Outcome.FAILED, failure=failure)

    def _make_report(
        self,
        outcome: Outcome,
        *,
        samples: tuple[Sample, ...] = (),
        failure: Failure | None = None,
        session: uuid.UUID | None = None,
    ) -> Report:
        """Return a report of the trial with everything that is known about its session."""
        # Without samples, only remarks about the host are reported: those about the workload and files concern counts.
        caveats: tuple[str, ...] = ()
        files_remarks: tuple[str, ...] = ()
        if samples:
            caveats = (self.workload.workload.caveat,) if self.workload.workload.caveat else ()
            files_remarks = self._files.list_remarks()
            changes = self._restorer.describe(self._files.lookups.missed_paths)
            if changes:
                files_remarks = (changes[:MAX_LINE_CHARACTERS], *files_remarks)
        was_built = not (failure and failure.stage is Stage.BUILD)
        return Report(
            run_id=make_run_id(self._started_at),
            subject=self.subject.name,
            revision=self.subject.revision,
            case=self.subject.case,
            host=self._bench.host,
            environment=self._environment,
            runner_version=get_version(),
            command=self._case.command if was_built else (),
            started_at=self._started_at,
            finished_at=datetime.now(UTC),
            outcome=outcome,
            samples=samples,
            build=self.subject.build,
            failure=failure,
            session=session,
            canary=self._bench.trust.canary,
            mismatches=self._bench.trust.declared.list_mismatches(self._environment),
            remarks=(*caveats, *self._bench.trust.remarks, *self._state.list_remarks(), *files_remarks),
            files=self._files.build_program_files() if samples else None,
            cache_renewed=self._was_renewed and bool(samples),
            judging=self.workload.metrics.judging,
        )
