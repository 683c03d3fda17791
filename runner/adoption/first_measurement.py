"""Builds a revision of a project that has no workload yet, executes commands in the build, and measures it."""

import resource
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from pydantic import ValidationError

from runner.adoption.build_failure_text import hide_build_path
from runner.adoption.built_programs import (
    add_file_runs,
    find_built_programs,
    find_known_servers,
    find_load_generator,
    list_commands,
)
from runner.adoption.command_choice import SLOW_SECONDS
from runner.adoption.own_code import count_memory_faults, executes_own_code
from runner.adoption.printed_text import find_missing_module, find_only_error, is_usage, prints_error_line
from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.server_proposals import get_program, list_service_runs, propose_known_server
from runner.adoption.sources import Sources
from runner.adoption.systems import scripts
from runner.adoption.tree_files import get_size, read_text
from runner.adoption.tried_command import LONG_CPU_SECONDS, TriedCommand
from runner.adoption.workload_text import render_workload
from runner.contract.report import Build, Outcome, Report, Revision
from runner.errors import FaultwatchError
from runner.execution.execute import TIMEOUT_WORDS, ProgramResult, execute
from runner.measuring.measurement import measure_case
from runner.measuring.preflight import Workbench
from runner.measuring.sampling import Sampling
from runner.subject.build import BuildFailure
from runner.subject.confined_build import execute_confined
from runner.subject.repository import Repository
from runner.subject.session_tree_restorer import restore_tree
from runner.workload import Workload, list_cases
from runner.workload.bound_case import bind_case
from runner.workload.strict_toml import describe_first_mistake

FAULTS = "minor-faults"
TRIAL_SECONDS = 20
"""The time limit of a trial execution, in seconds."""
_SERVER_TRIAL_SECONDS = 90
"""The same for a server, whose trial is its start, its fill, and all windows of its load."""
_MIN_SAMPLES = 3
"""Samples of the first measurement, which show whether the count repeats."""
_MAX_PROBLEM_CHARACTERS = 300
RUNS_PER_TRIAL = 3
"""The number of trial executions of a command, which show whether its count varies."""
MAX_QUICK_SECONDS, MAX_SEARCH_SECONDS = 0.2, 20.0
"""In seconds. If a program takes at most the first time with one of its inputs, it is executed once with each similar
file, to find the one that causes the most faults. No execution is started after the second time."""
QUICK_TIMEOUT_SECONDS = 6
"""The time limit of a single execution that has to be quick: three times :data:`SLOW_SECONDS`, because the load of the
host may prolong it."""
_UNSTARTED_STATUS = 127
"""The exit code with which a shell reports a program that does not exist."""
_PLACEHOLDER_RUN = RunProposal("true")
"""The command of a workload that is only built."""


class Progress(Protocol):
    """Shows the progress of a measurement."""

    def set_remaining_steps(self, n_steps: int) -> None:
        """Set the number of remaining executions."""

    def advance(self) -> None:
        """Count an execution that has ended."""


class FirstMeasurement:
    """Builds one revision in several ways, and measures it."""

    def __init__(
        self, repository: Repository, revision: Revision, sources: Sources, file: Path, workbench: Workbench
    ) -> None:
        """Prepare to measure a revision.

        Parameters
        ----------
        file
            Where the workload file will be.
        """
        self.repository = repository
        self.revision = revision
        self.sources = sources
        self._file = file
        self.workbench = workbench
        self._failures: dict[str, BuildFailure] = {}
        """The builds that have failed, by their definition."""

    def build(self, proposal: BuildProposal) -> tuple[Path, Build]:
        """Build the revision as proposed.

        A build that failed before this object was made is repeated, because the user may have installed what it lacked.

        Raises
        ------
        BuildFailure, FaultwatchError
            As :meth:`runner.subject.build.Builder.build` does.
        """
        workload = self.make_workload(proposal, _PLACEHOLDER_RUN, TRIAL_SECONDS)
        build_identity = workload.build.model_dump_json()
        if build_identity in self._failures:
            raise self._failures[build_identity]
        try:
            return replace(self.workbench.builder, retry_failed=True).build(
                self.repository, self.revision.commit, workload
            )
        except BuildFailure as failure:
            self._failures[build_identity] = failure
            raise

    @contextmanager
    def extend_build(self, proposal: BuildProposal, step: str, tree: Path) -> Iterator[Path]:
        """Run a further step of a build in its tree, and yield the tree; restore it afterwards.

        Raises
        ------
        BuildFailure, FaultwatchError
            As :meth:`runner.subject.build.Builder.extend_build` does.
        """
        further_build = replace(proposal, command=build_shell_command(step))
        workload = self.make_workload(further_build, _PLACEHOLDER_RUN, TRIAL_SECONDS)
        with self.workbench.builder.extend_build(workload, tree) as extended_tree:
            yield extended_tree

    def list_run_proposals(self, proposal: BuildProposal, tree: Path) -> list[RunProposal]:
        """Return the commands to try after a build, the most promising first."""
        programs = find_built_programs(tree, self.sources.files)

        def find_generator(name: str) -> str:
            return find_load_generator(name, programs)

        def get_file_size(file: str) -> int:
            return get_size(tree / file)

        names = find_known_servers(tree, self.sources.files, programs)
        known_servers = [propose_known_server(name, find_generator) for name in names]
        server_proposals = [run for run in known_servers if run]
        server_programs = {run.program for run in server_proposals}
        service_proposals = [
            run
            for run in list_service_runs(self.sources, [program.name for program in programs])
            if run.program not in server_programs
        ]
        # The programs of tests and benchmarks, which a build copies to stable paths, are tried only as it proposes.
        proposed_programs = {get_program(run) for run in proposal.runs}
        other_programs = [program for program in programs if program.name not in proposed_programs]
        other_proposals = list_commands(other_programs, self.sources, get_file_size)
        named_proposals = add_file_runs(proposal.runs, self.sources, get_file_size)
        runs = [*server_proposals, *service_proposals, *named_proposals, *other_proposals]
        # Java classes, for example, or a service may be started only by a script of the project.
        return runs or scripts.list_run_proposals(self.sources)

    def count_faults_roughly(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> int | None:
        """Return the faults of one execution; None if it fails or is slow.

        They include those of what starts the program, which hardly differ between executions, so the numbers can be
        compared with one another.
        """
        result, faults, cpu_seconds = self.execute_once(proposal, run, tree, QUICK_TIMEOUT_SECONDS)
        is_usable = result.status == 0 and cpu_seconds <= SLOW_SECONDS and not prints_error_line(result.output)
        return faults if is_usable else None

    def execute_once(
        self, proposal: BuildProposal, run: RunProposal, tree: Path, timeout: float
    ) -> tuple[ProgramResult, int, float]:
        """Execute a command once, and return what it prints, with its minor faults and its CPU time in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = self.execute_command(proposal, run, tree, timeout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return result, after.ru_minflt - before.ru_minflt, cpu_seconds

    def get_input_size(self, run: RunProposal, tree: Path) -> int:
        """Return the size of a command's file in bytes; 0 if it has none, or if there is no such file in the tree."""
        restore_tree(tree)  # The program may have removed its input, as compressors do.
        return get_size(tree / run.file) if run.file else 0

    def measure_workload(self, workload: Workload, build: Build | None = None, *, progress: Progress) -> list[Report]:
        """Build a workload, and measure all its cases with enough executions to see whether its counts repeat.

        Parameters
        ----------
        build
            The build that the reports describe; by default the one that is made here, or taken from the cache.
        progress
            Is told how many executions remain, and when each of them ends.

        Raises
        ------
        BuildFailure, FaultwatchError
            The revision does not build, or this host cannot measure.
        """
        tree, new_build = self.workbench.builder.build(self.repository, self.revision.commit, workload)
        # Take enough samples to see whether the counts repeat. Three starts of a server suffice; each takes as long as
        # all its windows.
        own_sampling = Sampling.from_workload(workload)
        max_samples = _MIN_SAMPLES if workload.server else max(own_sampling.max_samples, _MIN_SAMPLES)
        min_samples = min(max(own_sampling.min_samples, _MIN_SAMPLES), max_samples)
        sampling = Sampling(min_samples, max_samples, own_sampling.precision)
        # The first execution of a case warms the page cache and is not a sample.
        progress.set_remaining_steps(len(list_cases(workload)) * (min_samples + 1))
        return [
            measure_case(
                workload,
                case,
                tree,
                bench=self.workbench.bench,
                subject=self.repository.name,
                revision=self.revision,
                build=build or new_build,
                sampling=sampling,
                progress=progress.advance,
            )
            for case in list_cases(workload)
        ]

    def parse_workload(self, text: str) -> Workload:
        """Return the workload that a text defines.

        Raises
        ------
        FaultwatchError
            A value is not valid, such as a command in which a quotation mark is not closed.
        """
        try:
            return Workload.model_validate(tomllib.loads(text) | {"path": self._file})
        except ValidationError as error:
            raise FaultwatchError(
                describe_first_mistake(error, Workload), "correct the command that you passed"
            ) from None

    def try_run(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        """Execute a proposed command a few times; return its counts, or why it cannot be measured.

        A server is started only once, to see whether its load works. A program that succeeds but prints that a Python
        module is missing, or prints only an error about its file, counts as failed.
        """
        started_at = time.monotonic()
        n_executions = 1 if run.load else RUNS_PER_TRIAL
        seconds = _SERVER_TRIAL_SECONDS if run.load else TRIAL_SECONDS
        workload = self.make_workload(proposal, run, seconds)
        report = measure_case(
            workload,
            list_cases(workload)[0],
            tree,
            bench=self.workbench.bench,
            subject=self.repository.name,
            revision=self.revision,
            sampling=Sampling(min_samples=n_executions, max_samples=n_executions),
        )
        if report.outcome is Outcome.MEASURED and report.list_values(FAULTS):
            return self._assess_execution(workload, run, tree, report)
        seconds_to_fail = time.monotonic() - started_at
        if report.failure is None:
            return TriedCommand(run, (), "it was not measured", seconds=seconds_to_fail)
        # Only the message of a report tells whether a program exceeded its time limit.
        timed_out = TIMEOUT_WORDS in report.failure.message
        return TriedCommand(run, (), report.failure.explained, timed_out=timed_out, seconds=seconds_to_fail)

    def _assess_execution(self, workload: Workload, run: RunProposal, tree: Path, report: Report) -> TriedCommand:
        """Return the counts of a measured command, or why it does not work although it succeeds."""
        # A program that reports its work did not only print its usage, and neither did a server.
        reports_work = run.output != "none" or run.load is not None
        printed_text = "" if reports_work else self._execute_workload(workload, tree).output
        if run.is_fallback and not reports_work and self._differs_from_build(tree, run.file):
            # If a program needs more, or fewer, arguments, it can take an input for the file that it is to write.
            problem = f"`{run.command}` overwrites {run.file} instead of reading it"
            return TriedCommand(run, (), problem, seconds=max(report.list_values("elapsed"), default=0.0))
        _, error_line = find_missing_module(printed_text)
        if run.file and not error_line:
            error_line = find_only_error(printed_text)
        if error_line:
            # The program has started another one and ignores the failure of that, or it has refused its file.
            problem = f"`{run.command}` succeeds, but prints: {hide_build_path(error_line)}"
            return TriedCommand(run, (), problem[:_MAX_PROBLEM_CHARACTERS])
        cpu_seconds = min(report.list_values("task-clock"), default=0.0)
        mapped_files = report.files.mapped if report.files else ()
        own_files = [file for file in mapped_files if file.in_build]
        maps_built_files = bool(own_files) or report.files is None or run.is_server
        counts = tuple(map(int, report.list_values(FAULTS)))
        return TriedCommand(
            run,
            counts,
            seconds=max(report.list_values("elapsed"), default=0.0),
            cpu_seconds=cpu_seconds,
            # A program that computes for long has done more, even if it mentions its help.
            prints_usage=is_usage(printed_text) and cpu_seconds < LONG_CPU_SECONDS,
            own_bytes=report.files.own_bytes if report.files else "",
            own_faults=sum(file.faults or 0 for file in own_files),
            is_foreign=not executes_own_code(self.sources, maps_built_files=maps_built_files),
            reports_error=prints_error_line(printed_text),
            memory_faults=count_memory_faults(min(counts), mapped_files, get_program(run)),
        )

    def _differs_from_build(self, tree: Path, file: str) -> bool:
        """Return whether the last execution changed a file of the tree, and restore the tree."""
        changed_size = get_size(tree / file)
        changed_text = read_text(tree / file)
        restore_tree(tree)
        return changed_size != get_size(tree / file) or changed_text != read_text(tree / file)

    def execute_command(
        self, proposal: BuildProposal, run: RunProposal, tree: Path, timeout: float = TRIAL_SECONDS
    ) -> ProgramResult:
        """Execute a command once without measuring it, and return what it prints.

        It prints nothing if it cannot be started. The time limit is in seconds.
        """
        return self._execute_workload(self.make_workload(proposal, run, TRIAL_SECONDS), tree, timeout)

    def _execute_workload(self, workload: Workload, tree: Path, timeout: float = TRIAL_SECONDS) -> ProgramResult:
        """Execute the command of a workload's first case without measuring it, and return what it prints.

        It prints nothing if it cannot be started. The time limit is in seconds.
        """
        bound_case = bind_case(workload, list_cases(workload)[0])
        environment = self.workbench.bench.make_process_state(bound_case).environment
        restore_tree(tree)
        sandbox = self.workbench.bench.sandbox
        try:
            if sandbox:
                return execute_confined(
                    bound_case.command, sandbox=sandbox, tree=tree, environment=environment, timeout=timeout
                )
            return execute(
                bound_case.command, directory=tree, environment=environment, timeout=timeout, merge_streams=True
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return ProgramResult(_UNSTARTED_STATUS, output="", error="", seconds=0.0, deadline=timeout)

    def make_workload(self, proposal: BuildProposal, run: RunProposal, timeout: int) -> Workload:
        """Return a build and a command as a workload, with a time limit in seconds."""
        return self.parse_workload(render_workload(self.sources.name, proposal, run, timeout=timeout, schema=""))
