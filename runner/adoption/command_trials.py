"""Builds a project as proposed, and finds out by trial which of its programs can be measured."""

import os
import re
import resource
import shlex
import shutil
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from pydantic import ValidationError

from runner.adoption.benchmark_rounds import (
    ask_for_names,
    increase_rounds,
    list_benchmark_commands,
    reduce_rounds,
    skip_benchmarks,
)
from runner.adoption.built_programs import (
    BuiltProgram,
    add_file_runs,
    find_built_programs,
    find_known_servers,
    list_commands,
    propose_documented_command,
)
from runner.adoption.command_choice import (
    MAX_PROGRAMS,
    MAX_SECONDS,
    SLOW_SECONDS,
    has_tried_enough,
    is_redirected,
    may_ignore_file,
    works_on_folder,
)
from runner.adoption.documented_commands import list_help_commands
from runner.adoption.exit_status import accept_result_status, contains_most_words
from runner.adoption.help_options import list_scanned_options, list_shorter_options, list_single_thread_options
from runner.adoption.input_files import find_input_folder, list_inputs, list_similar_inputs, list_stand_ins
from runner.adoption.larger_folder import (
    choose_folder,
    may_work_on_folder,
    run_in_empty_folder,
    run_in_folder,
    starts_in_folder,
)
from runner.adoption.larger_input import name_larger_file, name_missing_file, replace_file
from runner.adoption.larger_sizes import increase_sizes
from runner.adoption.made_inputs import add_making_step, find_missing_format, list_made_input_runs
from runner.adoption.needless_commands import (
    fails_slowly,
    has_enough_inputs,
    ignores_file,
    is_needless_command,
    lacks_code,
)
from runner.adoption.own_code import count_memory_faults, executes_own_code
from runner.adoption.ports_in_usage import list_port_arguments
from runner.adoption.printed_text import (
    find_missing_library,
    find_missing_module,
    find_only_error,
    find_unopened_files,
    is_usage,
    prints_error_line,
    reports_error,
)
from runner.adoption.program_text import find_program_text
from runner.adoption.proposal import BuildProposal, LoadProposal, RunProposal, build_shell_command
from runner.adoption.server_proposals import (
    get_program,
    get_start_command,
    list_port_variants,
    list_service_runs,
    names_port,
    propose_known_server,
    propose_listening_server,
    replace_file_by_folder,
)
from runner.adoption.size_arguments import list_size_arguments
from runner.adoption.sources import Sources, is_plain_path
from runner.adoption.stabilizing_variables import VARIABLES_BY_TOOL, list_stabilizing_variables
from runner.adoption.subcommands import list_subcommand_runs
from runner.adoption.systems import scripts
from runner.adoption.tried_command import LONG_CPU_SECONDS, TriedCommand
from runner.adoption.usage_arguments import list_usage_arguments, list_usage_runs
from runner.adoption.workload_text import render_workload
from runner.contract.report import Build, Outcome, Report, Revision
from runner.environment.needed_libraries import list_needed_libraries
from runner.errors import FaultwatchError
from runner.execution.execute import TIMEOUT_WORDS, ProgramResult, execute
from runner.execution.process_variables import PROCESS_VARIABLES
from runner.measuring.measurement import measure_case
from runner.measuring.preflight import Workbench
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Subject, Trial
from runner.perf.program_failure import ExecutionFailure
from runner.servers.listening import Listener
from runner.servers.server_execution import ServerExecution
from runner.subject.build import BuildFailure
from runner.subject.confined_build import execute_confined
from runner.subject.repository import Repository
from runner.subject.session_tree_restorer import restore_tree
from runner.system.regular_file import read_regular
from runner.system.tree_walk import walk_tree
from runner.workload import Workload, list_cases
from runner.workload.bound_case import bind_case
from runner.workload.placeholders import escape_braces
from runner.workload.strict_toml import describe_first_mistake

FAULTS = "minor-faults"
TRIAL_SECONDS = 20
"""The time limit of a trial execution, in seconds."""
_SERVER_TRIAL_SECONDS = 90
"""The same for a server, whose trial is its start, its fill, and all windows of its load."""
_MIN_BENCHMARK_SECONDS = 0.1
"""A benchmark that takes less CPU time, in seconds, gets more rounds if it has a fixed number of them."""
_MAX_SLOW_SHARE = 0.25
"""If more benchmarks than this share are slow, they are what the suite is about."""
_MIN_SAMPLES = 3
"""Samples of the first measurement, which show whether the count repeats."""
_UNINFORMATIVE_LINE = re.compile(r"\s*($|note: |hint: |[×│╰])")
"""Lines of a log that give no information: empty lines, and lines with which pip frames an error."""
_BUILD_PATH = re.compile(r"/\S{0,400}?/[0-9a-f]{12}-[0-9a-f]{16}-\d_*/tree\b")
"""The path of a build's tree, which differs between the ways to build."""
_MAX_PROBLEM_CHARACTERS = 300
_MAX_LOG_LINES, _MAX_LOG_LINE_CHARACTERS = 6, 200
"""How many last lines of a build's log are shown, and how many characters of each."""
_RUNS_PER_TRIAL = 3
"""The number of trial executions of a command, which show whether its count varies."""
_MAX_QUICK_SECONDS, _MAX_SEARCH_SECONDS = 0.2, 20.0
"""In seconds. If a program takes at most the first time with one of its inputs, it is executed once with each similar
file, to find the one that causes the most faults. No execution is started after the second time."""
_QUICK_TIMEOUT_SECONDS = 6
"""The time limit of a single execution that has to be quick: three times :data:`SLOW_SECONDS`, because the load of the
host may prolong it."""
_UNSTARTED_STATUS = 127
"""The exit code with which a shell reports a program that does not exist."""
_MAX_INPUT_BYTES = 64 << 20
"""A larger input is not compared with what a program prints."""
_PLACEHOLDER_RUN = RunProposal("true")
"""The command of a workload that is only built."""
_LISTEN_SECONDS = 5.0
"""A program that does not listen within this many seconds is not taken for a server."""
_ANSWER_SECONDS = 2.0
"""A server that does not answer an HTTP request within this many seconds is not taken for an HTTP server."""
_OTHER_PORT = 29_999
"""A port that a program is told to listen on, to see whether it accepts the option."""
_ASK_HTTP = (
    r'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n" >&3 && head -c 12 <&3'
)
"""Requests the first page of a server. It runs in the server's network namespace, which nothing else can reach."""
_HTTP_STATUS = re.compile(r"HTTP/\S+ ([1-5]\d\d)")
_FIRST_ERROR_STATUS = 400
_PYTHON_STARTS = ("venv/bin/python ", "python3 ")
"""How commands start that run a Python program."""
_STANDARD_INPUT_ARGUMENT = "-"
"""The usual argument by which a program that takes text as its argument reads its standard input instead."""
_ANY_SHELL_START = "sh -c '"
_FOLDER_START = "sh -c 'cd "
"""How a command starts that executes its program in a folder. It ends with the quote."""
_SHELL_START = "sh -c 'exec "
"""How a command starts whose standard input is redirected."""
_REPEATED_TRIALS = 2
"""How many times a trial is repeated to compare the ranges of a command's counts with and without variables."""
_MIN_RANGE_RATIO, _MIN_RANGE_RATIO_OF_ONE_TRIAL = 2, 10
"""Variables that do not make a count exact are worth setting if they make its range this many times narrower: in
repeated trials, and in a single one, whose few executions may agree by chance."""
_MIN_MIDDLE_RATIO = 4
"""The same for the range of the middle half of repeated trials, if the whole range is no wider either."""
_SAME_OUTPUT = "the output is the same as without the file"
"""What is known of a program that prints the same with a file as its standard input."""
_HELP_OPTIONS = ("--help", "-h", "-help")
_MIN_SIZE_RATIO = 2
"""A command with the sizes that its help names has to take at least this many times the faults of the one without."""
_BENCHMARK = re.compile(r"bench", re.IGNORECASE)
_TEST_RUNNER = re.compile(r"\bpytest\b|\bjunit\b|\bmocha\b|\bjest\b|\s-test\.parallel=|--test-threads=", re.IGNORECASE)
"""A command that runs a suite of tests, of Python, Java, JavaScript, Go or Rust."""
_MEANINGLESS_VARIABLE = {"OMP_NUM_THREADX": "1"}
"""A variable that no program reads. It enlarges the environment like ``OMP_NUM_THREADS=1``, without its effect."""


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
        self._workbench = workbench
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
        workload = self._make_workload(proposal, _PLACEHOLDER_RUN, TRIAL_SECONDS)
        build_identity = workload.build.model_dump_json()
        if build_identity in self._failures:
            raise self._failures[build_identity]
        try:
            return replace(self._workbench.builder, retry_failed=True).build(
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
        workload = self._make_workload(further_build, _PLACEHOLDER_RUN, TRIAL_SECONDS)
        with self._workbench.builder.extend_build(workload, tree) as extended_tree:
            yield extended_tree

    def list_run_proposals(self, proposal: BuildProposal, tree: Path) -> list[RunProposal]:
        """Return the commands to try after a build, the most promising first."""
        programs = find_built_programs(tree, self.sources.files)

        def find_generator(name: str) -> str:
            return _find_load_generator(name, programs)

        def get_size(file: str) -> int:
            return _get_size(tree / file)

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
        other_proposals = list_commands(other_programs, self.sources, get_size)
        named_proposals = add_file_runs(proposal.runs, self.sources, get_size)
        runs = [*server_proposals, *service_proposals, *named_proposals, *other_proposals]
        # Java classes, for example, or a service may be started only by a script of the project.
        return runs or scripts.list_run_proposals(self.sources)

    def try_runs(
        self, proposal: BuildProposal, runs: Iterable[RunProposal], tree: Path, show_progress: Callable[[str], None]
    ) -> Iterator[TriedCommand]:
        """Execute commands, each a few times, until enough programs did some work; yield each result.

        Several programs without an input are tried, because the first may do hardly any work. A server is tried with a
        load. A program that works without arguments may only have started, so it is also tried with a file. If it fails
        with a file, it is tried with the file as its standard input; there it can neither remove the file nor write
        another one next to it.
        """
        programs: dict[str, list[TriedCommand]] = {}
        sorted_runs = self._put_heaviest_tests_first(proposal, list(runs), tree)
        for run in self._add_further_runs(proposal, sorted_runs, programs, tree):
            program = get_program(run)
            earlier_results = programs.get(program, [])
            if is_needless_command(run, earlier_results):
                continue
            if has_tried_enough(programs, program):
                return
            if has_enough_inputs(run, earlier_results):
                continue
            variants = _list_variants(run, earlier_results)
            for candidate in variants:
                show_progress(f"trying {candidate.command}")
                tried_command = self._try_program_or_server(proposal, candidate, tree)
                tried_command = self._ignore_varying_file_names(proposal, tried_command, earlier_results, tree)
                is_redirected_variant = candidate is not run
                if not is_redirected_variant and self._takes_file_for_text(
                    proposal, tried_command, earlier_results, tree
                ):
                    tried_command = TriedCommand(
                        candidate,
                        (),
                        "it does not open the file: it behaves the same when given the name of a file that does not "
                        "exist",
                    )
                    if redirect_file_to_input(run) in variants:
                        # This loop tries it after the plain redirection.
                        variants.append(redirect_file_to_input(run, _STANDARD_INPUT_ARGUMENT))
                if is_redirected_variant and tried_command.faults:
                    problem = self._describe_unread_input(proposal, candidate, tree)
                    if problem:
                        tried_command = TriedCommand(candidate, (), problem, seconds=tried_command.seconds)
                programs.setdefault(program, []).append(tried_command)
                yield tried_command
                # The next variant passes the file as standard input, which is needed only if this one did not read it.
                # A program that does not end with an input of the project has read it.
                works_long = tried_command.timed_out and bool(run.input_file)
                reads_file = tried_command.faults and not ignores_file(tried_command, earlier_results)
                if tried_command.run.is_server or reads_file or works_long:
                    break

    def _put_heaviest_tests_first(
        self, proposal: BuildProposal, runs: Sequence[RunProposal], tree: Path
    ) -> list[RunProposal]:
        """Return commands with the test programs that take the most faults before the others, if there are many.

        Only the first few of a project's many tests are tried, and a later one may do more. Each is executed only once,
        as far as time allows.
        """
        tests = {get_program(run): run for run in reversed(runs) if run.is_test and not (run.file or run.reads_text)}
        if len(tests) <= MAX_PROGRAMS:
            return list(runs)
        ends_at = time.monotonic() + _MAX_SEARCH_SECONDS
        faults_by_program = {
            program: (self._count_faults_roughly(proposal, run, tree) or 0) if time.monotonic() < ends_at else 0
            for program, run in reversed(tests.items())
        }
        first_test = next(index for index, run in enumerate(runs) if get_program(run) in tests)
        # The sort is stable, so the commands of a program, and tests that are alike, keep their order.
        test_runs = sorted(
            (run for run in runs if get_program(run) in tests), key=lambda run: -faults_by_program[get_program(run)]
        )
        other_runs = [run for run in runs if get_program(run) not in tests]
        return [*other_runs[:first_test], *test_runs, *other_runs[first_test:]]

    def _takes_file_for_text(
        self, proposal: BuildProposal, tried_command: TriedCommand, earlier_results: Sequence[TriedCommand], tree: Path
    ) -> bool:
        """Return whether a command that works takes the name of its file for something else, such as an expression.

        It then opens the same files as with the name of a file that does not exist. This is not tried if another
        command of the program did some work, because it shows the same.
        """
        run = tried_command.run
        is_shown_already = any(result.did_work for result in earlier_results)
        missing_run = replace_file(run, name_missing_file(run.file)) if run.file else None
        if is_shown_already or missing_run is None or not tried_command.faults or not tried_command.own_bytes:
            return False
        result_without_file = self._try_run(proposal, missing_run, tree)
        return bool(result_without_file.faults) and result_without_file.own_bytes == tried_command.own_bytes

    def _ignore_varying_file_names(
        self, proposal: BuildProposal, tried_command: TriedCommand, earlier_results: Sequence[TriedCommand], tree: Path
    ) -> TriedCommand:
        """Return the result of a command with a file, as one that ignores its file if only file names say otherwise.

        Some programs open files with other names in each execution, such as logs named after the time. Whether they
        open their input can then be told only by the count. If the count does not show it either, and the names differ
        between two executions without a file too, the result gets the ``own_bytes`` of such an execution.
        """
        bare_result = next((other for other in earlier_results if other.did_work and not other.run.file), None)
        if bare_result is None or not bare_result.own_bytes or not tried_command.run.file or not tried_command.faults:
            return tried_command
        opens_other_files = tried_command.own_bytes not in {"", bare_result.own_bytes}
        if not opens_other_files or not may_ignore_file(replace(tried_command, own_bytes=""), bare_result):
            return tried_command
        repeated_bare_result = self._try_run(proposal, bare_result.run, tree)
        return (
            tried_command
            if repeated_bare_result.own_bytes == bare_result.own_bytes
            else replace(tried_command, own_bytes=bare_result.own_bytes)
        )

    def _add_further_runs(
        self,
        proposal: BuildProposal,
        runs: Iterable[RunProposal],
        programs: Mapping[str, Sequence[TriedCommand]],
        tree: Path,
    ) -> Iterator[RunProposal]:
        """Yield the given commands, and commands that the results of a program's earlier commands suggest.

        These come just before the program's commands that only print a version or the usage: the input that causes
        the most faults, a folder of inputs for a program that works on the folder in which it starts, and subcommands
        and examples, which are read from the help, for a program that has refused every file.

        Parameters
        ----------
        programs
            The results of each program so far. The caller adds to them between two commands.
        """
        asked_programs = set()
        for run in runs:
            program = get_program(run)
            results = programs.get(program, [])
            file_runs = [result.run for result in results if result.run.file]
            is_refused = bool(file_runs) and not any(result.did_work and result.run.file for result in results)
            is_refused = is_refused and not (fails_slowly(run, results) or lacks_code(results))
            if not run.only_describes_itself or program in asked_programs:
                yield run
                continue
            asked_programs.add(program)
            start_command = run.command.rpartition(" ")[0]
            folder = find_input_folder([file_run.input_file for file_run in file_runs if file_run.input_file])
            heaviest_input = self._find_heaviest_input(proposal, results, tree)
            if heaviest_input:
                yield heaviest_input
            if folder and any(works_on_folder(result, results) for result in results):
                command = f"{start_command} {folder}"
                yield replace(run, command=command, input_file=folder, may_do_nothing=False, is_folder=True)
            if is_refused:
                asking = replace(run, command=f"{start_command} --help")
                help_text = self._execute_command(self._make_workload(proposal, asking, TRIAL_SECONDS), tree).output
                yield from list_subcommand_runs(start_command, help_text, file_runs)
                examples = list_help_commands(self.sources, program, help_text)
                yield from (propose_documented_command(start_command, example) for example in examples)
                usage = help_text
                if not list_usage_arguments(help_text):
                    bare = self._make_workload(proposal, replace(run, command=start_command), TRIAL_SECONDS)
                    usage = self._execute_command(bare, tree, _QUICK_TIMEOUT_SECONDS).output
                yield from list_usage_runs(start_command, usage, file_runs)
            yield run

    def _find_heaviest_input(
        self, proposal: BuildProposal, results: Sequence[TriedCommand], tree: Path
    ) -> RunProposal | None:
        """Return a command with the similar input that causes the most faults, if the program is quick with its inputs.

        None if no other input causes at least twice the faults of the heaviest one that was tried.
        """
        results_with_input = [
            result
            for result in results
            if result.did_work
            and result.run.input_file
            and not result.run.is_folder
            and result.work_seconds <= SLOW_SECONDS
        ]
        if min((result.work_seconds for result in results_with_input), default=SLOW_SECONDS) > _MAX_QUICK_SECONDS:
            return None
        heaviest_result = max(results_with_input, key=lambda result: min(result.faults))
        tried_file = heaviest_result.run.file
        similar_files = list_similar_inputs(self.sources, tried_file, lambda file: _get_size(tree / file))
        untried_files = [file for file in similar_files if file not in {result.run.input_file for result in results}]
        faults_by_file = self._count_faults_by_file(proposal, heaviest_result.run, [tried_file, *untried_files], tree)
        heaviest_file = max(faults_by_file, key=lambda file: faults_by_file[file], default=tried_file)
        added_faults = faults_by_file.get(heaviest_file, 0) - faults_by_file.get(tried_file, 0)
        heaviest_run = replace_file(heaviest_result.run, heaviest_file)
        if heaviest_run is None or tried_file not in faults_by_file or added_faults < min(heaviest_result.faults):
            return None
        return replace(heaviest_run, input_file=heaviest_file, is_heaviest=True)

    def _count_faults_by_file(
        self, proposal: BuildProposal, run: RunProposal, files: Sequence[str], tree: Path
    ) -> dict[str, int]:
        """Return the faults of a command with each of several files instead of its own, as far as time allows.

        It is executed only once with each file, which takes milliseconds; a trial takes a good part of a second. Files
        that the program refuses, or does not finish in time, are left out.
        """
        ends_at = time.monotonic() + _MAX_SEARCH_SECONDS
        faults_by_file: dict[str, int] = {}
        for file in files:
            run_with_file = replace_file(run, file)
            if run_with_file is None or time.monotonic() >= ends_at:
                continue
            faults = self._count_faults_roughly(proposal, run_with_file, tree)
            if faults is not None:
                faults_by_file[file] = faults
        return faults_by_file

    def _count_faults_roughly(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> int | None:
        """Return the faults of one execution; None if it fails or is slow.

        They include those of what starts the program, which hardly differ between executions, so the numbers can be
        compared with one another.
        """
        result, faults, cpu_seconds = self._execute_once(proposal, run, tree, _QUICK_TIMEOUT_SECONDS)
        is_usable = result.status == 0 and cpu_seconds <= SLOW_SECONDS and not prints_error_line(result.output)
        return faults if is_usable else None

    def _execute_once(
        self, proposal: BuildProposal, run: RunProposal, tree: Path, timeout: float
    ) -> tuple[ProgramResult, int, float]:
        """Execute a command once, and return what it prints, with its minor faults and its CPU time in seconds."""
        workload = self._make_workload(proposal, run, TRIAL_SECONDS)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = self._execute_command(workload, tree, timeout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return result, after.ru_minflt - before.ru_minflt, cpu_seconds

    def _try_program_or_server(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        """Try a command. If it is found to be a server, try it with a load: a server does not end by itself.

        A command that is no server is tried once more if this may give a better result: with its failure status
        accepted as a result, with the sizes that its usage asks for, with an option that makes it take less time, or
        with more rounds.
        """
        if run.obstacle:
            return TriedCommand(run, (), run.obstacle)
        if run.from_service_file:
            server = self._find_server(proposal, run, tree)
            if server:
                return self._try_server(proposal, server, tree)
            # A container often starts a command-line tool; without arguments, it has no work.
            return self._try_run(proposal, replace(run, may_do_nothing=" " not in run.command), tree)
        tried_command = self._try_run(proposal, run, tree)
        library_folder = _find_library_folder(tree, find_missing_library(tried_command.problem))
        if library_folder and not run.environment:
            # The makefile expects its library to be installed before the program is started.
            run = replace(run, environment={"LD_LIBRARY_PATH": library_folder})
            tried_command = self._try_run(proposal, run, tree)
        accepted_run = accept_result_status(run, tried_command.problem, lambda: self._prints_file(proposal, run, tree))
        if accepted_run:
            return self._try_run(proposal, accepted_run, tree)
        server = None
        # A benchmark or a suite of tests that takes too long is not a server, even if it listens for what it starts.
        # Neither is a program of MPI, which listens for the other processes of its computation.
        if tried_command.timed_out and not (
            run.is_server
            or _BENCHMARK.search(run.command)
            or _TEST_RUNNER.search(run.command)
            or _uses_mpi(tree / get_program(run))
        ):
            server = self._find_server(proposal, run, tree)
        elif _may_need_port(tried_command):
            server = self._find_server_that_needs_port(proposal, run, tree)
        if server:
            return self._try_server(proposal, server, tree)
        if not run.file and " " not in run.command:
            tried_command = self._try_in_own_folder(proposal, tried_command, tree)
        if _lacks_arguments(tried_command) and " " not in tried_command.run.command:
            tried_command = self._try_with_arguments(proposal, tried_command, tree)
        elif _may_have_sizes(tried_command, tree):
            tried_command = self._try_larger_sizes(proposal, tried_command, tree)
        return self._try_other_length(proposal, tried_command, tree)

    def _try_other_length(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a command that takes too long with less work, and one that hardly works with more work.

        Less work are fewer benchmarks or rounds of a suite, and an option of the program. More work are larger sizes in
        the command, and more rounds.
        """
        run = tried_command.run
        takes_too_long = tried_command.timed_out or tried_command.work_seconds > MAX_SECONDS
        if takes_too_long and reduce_rounds(run.command):
            return self._try_fewer_benchmarks(proposal, tried_command, tree)
        if takes_too_long and not (run.file or run.is_test or run.is_server):
            return self._try_shorter_run(proposal, tried_command, tree)
        larger_result = increase_sizes(tried_command, lambda run: self._try_run(proposal, run, tree))
        return self._try_more_rounds(proposal, larger_result, tree)

    def _try_in_own_folder(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a program in its own folder if it says that it cannot open one of the project's files there.

        Return the given result if it says nothing like that, or does not work in its folder either.
        """
        run = tried_command.run
        folder, _, name = get_program(run).removeprefix("./").rpartition("/")
        takes_long = tried_command.timed_out or tried_command.seconds > SLOW_SECONDS
        if not folder or takes_long or not self.sources.has_folder(folder):
            return tried_command
        answer = self._execute_command(self._make_workload(proposal, run, TRIAL_SECONDS), tree)
        unopened_files = [file for file in find_unopened_files(answer.output) if self.sources.has(f"{folder}/{file}")]
        if not unopened_files:
            return tried_command
        command = build_shell_command(f"cd {folder}", f"exec ./{name}")
        result = self._try_run(proposal, replace(run, command=command, program=get_program(run)), tree)
        return result if result.faults and not result.prints_usage else tried_command

    def _try_with_arguments(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a command that did no work with the sizes, or the program text and a file, that its usage asks for.

        Return the given result if the usage asks for other arguments, or if the command does not work with them.
        """
        run = tried_command.run
        answer = self._execute_command(self._make_workload(proposal, run, TRIAL_SECONDS), tree)
        size_arguments, program_text = list_size_arguments(answer.output), find_program_text(answer.output)
        if size_arguments:
            further_runs = _add_arguments(run, size_arguments)
        elif program_text:
            inputs = list_inputs(self.sources, get_program(run), lambda file: _get_size(tree / file))
            stand_ins = list_stand_ins(self.sources)
            further_runs = [
                replace(
                    run,
                    command=" ".join((run.command, shlex.quote(program_text), *[*inputs, *stand_ins][:1])),
                    input_file=next(iter(inputs), ""),
                    stand_in_file="" if inputs else next(iter(stand_ins), ""),
                    may_do_nothing=False,
                )
            ]
        else:
            return tried_command
        further_result = self._try_until_quick(proposal, further_runs, tree)
        return further_result if further_result.faults and not further_result.prints_usage else tried_command

    def _try_larger_sizes(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a command that works without arguments with the sizes that an option in its help takes.

        Return the given result if there is no such option, or if the command does not do much more work with it: a
        program of MPI takes thousands of faults to start.
        """
        run = tried_command.run
        for help_option in _HELP_OPTIONS:
            asking = replace(run, command=f"{run.command} {help_option}")
            answer = self._execute_command(self._make_workload(proposal, asking, TRIAL_SECONDS), tree)
            size_arguments = list_size_arguments(answer.output)
            if size_arguments:
                result = self._try_until_quick(proposal, _add_arguments(run, size_arguments), tree)
                takes_more = min(result.faults, default=0) >= _MIN_SIZE_RATIO * max(tried_command.faults)
                return result if takes_more and result.did_work else tried_command
            if answer.timed_out or is_usage(answer.output):
                break  # with another such option, it would only do the same
        return tried_command

    def _try_until_quick(self, proposal: BuildProposal, runs: Sequence[RunProposal], tree: Path) -> TriedCommand:
        """Try commands, of which each takes less time than the one before; return the result of the first quick one."""
        for run in runs:
            result = self._try_run(proposal, run, tree)
            if not (result.timed_out or result.work_seconds > SLOW_SECONDS):
                break
        return result

    def _try_more_rounds(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a benchmark that hardly computes with ever more of its fixed rounds, as long as it is quick.

        Benchmarks of microseconds take less than the start of their program otherwise. Return the given result if the
        command has no number of rounds, or computes for long enough.
        """
        best_result = tried_command
        while best_result.faults and 0 < best_result.cpu_seconds < _MIN_BENCHMARK_SECONDS:
            command = increase_rounds(best_result.run.command)
            if not command:
                break
            result = self._try_run(proposal, replace(best_result.run, command=command), tree)
            if not result.faults or result.work_seconds > SLOW_SECONDS:
                break
            best_result = result
        return best_result

    def _try_fewer_benchmarks(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a suite of benchmarks that took long without its slow ones, or else with a single round of each.

        If many are slow, the single round comes first. Return the given result if neither works.
        """
        run = tried_command.run
        names, slow_names = self._find_slow_benchmarks(proposal, run, tree)
        shorter = skip_benchmarks(run.command, slow_names) if 0 < len(slow_names) < len(names) else ""
        are_few = len(slow_names) <= _MAX_SLOW_SHARE * len(names)
        commands = [shorter, reduce_rounds(run.command)]
        for command in filter(None, commands if are_few else reversed(commands)):
            result = self._try_run(proposal, replace(run, command=command), tree)
            if result.faults:
                return result
        return tried_command

    def _find_slow_benchmarks(
        self, proposal: BuildProposal, run: RunProposal, tree: Path
    ) -> tuple[list[str], list[str]]:
        """Return the names of a suite's benchmarks, and of those that are slow, fail, or could not be run in time.

        Each runs a single round alone: one whose preparation does not end would hide the others. Both lists are empty
        if the names are unknown.
        """
        asking = ask_for_names(run.command)
        if not asking:
            return [], []
        workload = self._make_workload(proposal, replace(run, command=asking), TRIAL_SECONDS)
        commands = list_benchmark_commands(run.command, self._execute_command(workload, tree).output)
        ends_at = time.monotonic() + _MAX_SEARCH_SECONDS
        slow_names = []
        for name, command in commands.items():
            is_quick = time.monotonic() < ends_at and self._is_quick(proposal, replace(run, command=command), tree)
            slow_names += [] if is_quick else [name]
        return list(commands), slow_names

    def _is_quick(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> bool:
        """Return whether one execution of a command succeeds and takes little CPU time."""
        result, _, cpu_seconds = self._execute_once(proposal, run, tree, SLOW_SECONDS)
        return result.status == 0 and cpu_seconds <= _MAX_QUICK_SECONDS

    def _try_shorter_run(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Try a command that took long with an option of its help, or of its own, by which it computes less.

        Return the given result if no such command works.
        """
        run = tried_command.run
        options: list[str] = []
        for help_option in _HELP_OPTIONS:
            asking = replace(run, command=_add_argument(run.command, help_option))
            answer = self._execute_command(self._make_workload(proposal, asking, TRIAL_SECONDS), tree)
            options = list_shorter_options(answer.output)
            if options:
                break
        for option in options or list_scanned_options(_read_bytes(tree / get_program(run))):
            shorter_run = self._try_run(
                proposal, replace(run, command=_add_argument(run.command, option), may_do_nothing=False), tree
            )
            if shorter_run.faults:
                return shorter_run
        return tried_command

    def _find_server_that_needs_port(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> RunProposal | None:
        """Start a command that did no work with the port that its usage asks for; return a proposal if it listens.

        The usage is in what the command prints, or else in its help.
        """
        bare_run = replace(run, program=get_program(run))
        for asking in (bare_run, replace(bare_run, command=f"{run.command} --help")):
            answer = self._execute_command(self._make_workload(proposal, asking, TRIAL_SECONDS), tree)
            variants = list_port_arguments(answer.output, _OTHER_PORT)
            for arguments in variants:
                server = self._find_server(proposal, replace(bare_run, command=f"{run.command} {arguments}"), tree)
                if server:
                    return server
            if variants:
                break  # The help would only repeat the usage.
        return None

    def _try_server(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        """Measure a server that was seen to listen, under its proposed load."""
        if run.obstacle:
            return TriedCommand(run, (), run.obstacle)
        tried_command = self._try_run(proposal, run, tree)
        return (
            tried_command
            if tried_command.faults
            else TriedCommand(run, (), f"{run.program} is a server: {tried_command.problem}")
        )

    def _find_server(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> RunProposal | None:
        """Start a command to see whether it listens; return a proposal to measure it as a server, or None."""
        # Where it listens. The status is that of its answer to an HTTP request, or 0 if it gives none.
        status, listener = self._observe_command(proposal, run, tree)
        if listener is None:
            return None
        if status >= _FIRST_ERROR_STATUS and run.file:
            # It may serve the files of a folder instead.
            run_with_folder = replace_file_by_folder(run)
            other_status, other_listener = self._observe_command(proposal, run_with_folder, tree)
            if other_listener and 0 < other_status < _FIRST_ERROR_STATUS:
                run, status, listener = run_with_folder, other_status, other_listener
        if listener.port and not names_port(run.command, listener.port):
            # Look for the option by which it listens on another port.
            for run_with_port in list_port_variants(run, _OTHER_PORT):
                other_status, other_listener = self._observe_command(proposal, run_with_port, tree)
                if other_listener and other_listener.port == _OTHER_PORT:
                    run, status, listener = run_with_port, other_status, other_listener
                    break
        # Its load.
        programs = find_built_programs(tree, self.sources.files)
        server = propose_listening_server(
            run,
            str(listener.port or listener.path),
            listener.port,
            speaks_http=status > 0,
            find_generator=lambda name: _find_load_generator(name, programs),
        )
        return replace(server, http_error=status if status >= _FIRST_ERROR_STATUS else 0)

    def _observe_command(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> tuple[int, Listener | None]:
        """Start a command; return its status for an HTTP request (0 if none answers) and where it listens, if it does.

        Among several ports, the first one that answers counts.
        """
        # Start it as a server that counts as ready at once, with a load that does nothing.
        observed = replace(run, command=escape_braces(run.command), ready_command="true", load=LoadProposal("true"))
        workload = self._make_workload(proposal, observed, TRIAL_SECONDS)
        subject = Subject(self.repository.name, self.revision, list_cases(workload)[0])
        try:
            with Trial(workload, subject, self._workbench.bench, tree).start_server() as server:
                listeners = server.find_listeners(_LISTEN_SECONDS)
                for listener in listeners:
                    status = _ask_http_status(server, listener.port) if listener.port else 0
                    if status:
                        return status, listener
                return 0, listeners[0] if listeners else None
        except ExecutionFailure:
            return 0, None

    def find_folder_to_copy(
        self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
    ) -> tuple[str, int] | None:
        """Return a folder of the project, and how many copies of it give the program of a command more work.

        None unless the program works on the folder in which it starts: it prints more there than in an empty folder.
        """
        chosen_folder = choose_folder(self.sources, lambda file: _get_size(tree / file))
        if chosen_folder is None or not may_work_on_folder(tried_command):
            return None
        folder, _ = chosen_folder
        result_with_files, result_without_files = (
            self._execute_command(self._make_workload(proposal, run, TRIAL_SECONDS), tree)
            for run in (run_in_folder(tried_command.run, folder), run_in_empty_folder(tried_command.run))
        )
        prints_more = len(result_with_files.output.splitlines()) > len(result_without_files.output.splitlines())
        return chosen_folder if prints_more and result_with_files.status == 0 else None

    def propose_made_input(
        self, proposal: BuildProposal, tried_commands: Iterable[TriedCommand], tree: Path
    ) -> tuple[BuildProposal, list[RunProposal]] | None:
        """Return a build that also makes an input which a program asks for, and the commands that read it.

        None unless the usage of a tried program names a format that ``init`` can make, and the project keeps no file in
        this format.
        """
        # Only programs for users get stand-ins and print their usage.
        runs_for_users = [
            result.run for result in tried_commands if result.run.stand_in_file or result.run.only_describes_itself
        ]
        start_commands = dict.fromkeys(
            run.command.rpartition(" ")[0]
            for run in runs_for_users
            if not (run.is_fallback or run.command.startswith(_ANY_SHELL_START))
        )
        for start_command in start_commands:
            for command in (start_command, f"{start_command} --help"):
                usage = self._execute_command(
                    self._make_workload(proposal, RunProposal(command), TRIAL_SECONDS), tree
                ).output
                input_format = find_missing_format(self.sources, usage) if is_usage(usage) else None
                if input_format:
                    runs = list_made_input_runs(start_command, usage, input_format)
                    if runs:
                        return add_making_step(proposal, input_format), runs
        return None

    def get_input_size(self, run: RunProposal, tree: Path) -> int:
        """Return the size of a command's file in bytes; 0 if it has none, or if there is no such file in the tree."""
        restore_tree(tree)  # The program may have removed its input, as compressors do.
        return _get_size(tree / run.file) if run.file else 0

    def find_stable_environment(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Return a command with environment variables that make its count repeat, or at least vary much less.

        The threads of a Python program's libraries make its count vary, but a few executions may not show this. If a
        single thread gives it another exact count, the program is therefore limited to one, even if its count repeats.
        """
        if tried_command.run.is_server:
            return tried_command
        varies = len(set(tried_command.faults)) > 1
        if not varies and not tried_command.run.command.startswith(_PYTHON_STARTS):
            return tried_command
        narrowest_result = tried_command
        repeated_command: TriedCommand | None = None
        for variables in self.list_variables(proposal, tried_command.run):
            result_with_variables = self._try_with_variables(variables, proposal, tried_command, tree)
            if not result_with_variables.faults:
                continue  # the program fails with them
            # An exact count that did not occur without the variables is their effect.
            if (
                len(set(result_with_variables.faults)) == 1
                and result_with_variables.faults[0] not in tried_command.faults
            ):
                # Any variable lengthens the beginning of the stack, and this alone can move a count.
                result_with_meaningless_variable = self._try_with_variables(
                    _MEANINGLESS_VARIABLE, proposal, tried_command, tree
                )
                is_unaffected = result_with_meaningless_variable.faults == result_with_variables.faults
                return tried_command if is_unaffected else result_with_variables
            if not varies:
                continue
            # The range of a few executions depends on chance, so more of them decide.
            if repeated_command is None:
                repeated_command = self._repeat_quick_trial(proposal, tried_command, tree)
            compared_result = repeated_command if narrowest_result is tried_command else narrowest_result
            repeated_result = self._repeat_quick_trial(proposal, result_with_variables, tree)
            if _is_clearly_narrower(repeated_result.faults, compared_result.faults):
                narrowest_result = repeated_result
        return narrowest_result

    def _repeat_quick_trial(self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path) -> TriedCommand:
        """Return the result of a command with the counts of further trials; a slow one is not repeated."""
        if tried_command.work_seconds > MAX_SECONDS:
            return tried_command
        repeated_results = [self._try_run(proposal, tried_command.run, tree) for _ in range(_REPEATED_TRIALS)]
        further_faults = [count for result in repeated_results for count in result.faults]
        return replace(tried_command, faults=(*tried_command.faults, *further_faults))

    def find_single_thread_command(
        self, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
    ) -> TriedCommand | None:
        """Return a command with the program's own option for a single thread, if its count repeats with it.

        None if the program's help names no such option, or if the count still varies.
        """
        start, rest = _split_at_file(tried_command.run)
        program_start = start.removeprefix(_SHELL_START).removeprefix(_ANY_SHELL_START)
        if tried_command.run.is_server or program_start.startswith((*_PYTHON_STARTS, "java ")):
            return None
        # A program prints its usage for --help, or if it gets no file.
        program = get_program(tried_command.run) if _enters_folder(tried_command.run) else program_start
        for command in dict.fromkeys((f"{program} --help", program)):
            asking = replace(tried_command.run, command=command)
            answer = self._execute_command(self._make_workload(proposal, asking, TRIAL_SECONDS), tree)
            options = list_single_thread_options(answer.output)
            for option in options:
                run_with_option = replace(tried_command.run, command=f"{start} {option}{rest}")
                result = self._try_run(proposal, run_with_option, tree)
                if len(set(result.faults)) == 1:
                    return result
            if options:
                break
        return None

    def list_variables(self, proposal: BuildProposal, run: RunProposal) -> tuple[Mapping[str, str], ...]:
        """Return sets of variables that may make a count repeat, for the tools of the build and of shell scripts."""
        shell_scripts = [self.sources.read_text(word) for word in run.command.split() if word.endswith(".sh")]
        started_tools = {
            tool
            for tool in VARIABLES_BY_TOOL
            if any(re.search(rf"(?<![\w.-]){tool}\s", script) for script in shell_scripts)
        }
        return list_stabilizing_variables({*started_tools, *proposal.tools})

    def _try_with_variables(
        self, variables: Mapping[str, str], proposal: BuildProposal, tried_command: TriedCommand, tree: Path
    ) -> TriedCommand:
        """Repeat the trial of a command with additional environment variables."""
        return self._try_run(
            proposal, replace(tried_command.run, environment={**tried_command.run.environment, **variables}), tree
        )

    def measure(self, workload: Workload, build: Build | None = None, *, progress: Progress) -> list[Report]:
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
        tree, new_build = self._workbench.builder.build(self.repository, self.revision.commit, workload)
        default_sampling = Sampling.from_workload(workload)
        # Three starts of a server suffice to show whether its counts repeat; each takes as long as all its windows.
        max_samples = _MIN_SAMPLES if workload.server else max(default_sampling.max_samples, _MIN_SAMPLES)
        min_samples = min(max(default_sampling.min_samples, _MIN_SAMPLES), max_samples)
        sampling = Sampling(min_samples, max_samples, default_sampling.precision)
        # The first execution of a case warms the page cache and is not a sample.
        progress.set_remaining_steps(len(list_cases(workload)) * (min_samples + 1))
        return [
            measure_case(
                workload,
                case,
                tree,
                bench=self._workbench.bench,
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

    def _try_run(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        """Execute a proposed command a few times; return its counts, or why it cannot be measured.

        A server is started only once, to see whether its load works. A program that succeeds but prints that a Python
        module is missing, or prints only an error about its file, counts as failed.
        """
        started_at = time.monotonic()
        n_executions = 1 if run.load else _RUNS_PER_TRIAL
        seconds = _SERVER_TRIAL_SECONDS if run.load else TRIAL_SECONDS
        workload = self._make_workload(proposal, run, seconds)
        report = measure_case(
            workload,
            list_cases(workload)[0],
            tree,
            bench=self._workbench.bench,
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
        printed_text = "" if reports_work else self._execute_command(workload, tree).output
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
        changed_size = _get_size(tree / file)
        changed_text = _read_text(tree / file)
        restore_tree(tree)
        return changed_size != _get_size(tree / file) or changed_text != _read_text(tree / file)

    def _describe_unread_input(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> str:
        """Return why a program does not seem to read its standard input; empty if it does.

        If it does, a file there changes its output, and causes no error.

        Its fault count cannot show this, because the faults of the shell that opens the file are counted too.

        Parameters
        ----------
        run
            A command whose standard input is redirected to its file.
        """
        # The command has the form "sh -c 'exec PROGRAM < FILE'", so it ends with a quote.
        start, _, _ = run.command.rpartition(f" < {run.file}")
        run_without_content = replace(run, command=f"{start} < {os.devnull}'")

        def execute_variant(variant: RunProposal) -> ProgramResult:
            return self._execute_command(self._make_workload(proposal, variant, TRIAL_SECONDS), tree)

        result_with_file, result_with_nothing = execute_variant(run), execute_variant(run_without_content)
        outputs_differ = (result_with_file.status, result_with_file.output) != (
            result_with_nothing.status,
            result_with_nothing.output,
        )
        if not outputs_differ:
            return _SAME_OUTPUT
        if result_with_file.status == result_with_nothing.status:
            # An output with times or addresses differs in each execution.
            repeated_output = execute_variant(run_without_content).output
            if repeated_output != result_with_nothing.output:
                return "the output differs in each execution, even without the file"
        # An error message in the output does not count if the file contains it too: the program may print its input.
        content = _read_text(tree / run.file)
        names_error_itself = any(map(reports_error, (result_with_nothing.output, content)))
        refuses_file = reports_error(result_with_file.output) and not names_error_itself
        return "it prints an error" if refuses_file else ""

    def _prints_file(self, proposal: BuildProposal, run: RunProposal, tree: Path) -> bool:
        """Return whether a program prints most of the words of its file."""
        output = self._execute_command(self._make_workload(proposal, run, TRIAL_SECONDS), tree).output
        return contains_most_words(output, _read_text(tree / run.file))

    def _execute_command(self, workload: Workload, tree: Path, timeout: float = TRIAL_SECONDS) -> ProgramResult:
        """Execute the command of a workload's first case without measuring it, and return what it prints.

        It prints nothing if it cannot be started. The time limit is in seconds.
        """
        bound_case = bind_case(workload, list_cases(workload)[0])
        environment = self._workbench.bench.make_process_state(bound_case).environment
        restore_tree(tree)
        sandbox = self._workbench.bench.sandbox
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

    def _make_workload(self, proposal: BuildProposal, run: RunProposal, timeout: int) -> Workload:
        """Return a build and a command as a workload, with a time limit in seconds."""
        return self.parse_workload(render_workload(self.sources.name, proposal, run, timeout=timeout, schema=""))


def _get_size(file: Path) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _find_library_folder(tree: Path, library: str) -> str:
    """Return the folder of a built tree that contains a shared library; empty if none does, or none is given."""
    files = (entry.path for entry in walk_tree(tree) if entry.name == library) if library else ()
    folders = sorted(os.path.relpath(Path(file).parent, tree) for file in files)
    return next(filter(is_plain_path, folders), "")


def _read_bytes(file: Path) -> bytes:
    """Return the content of a file; empty if it is no regular file, as a link to a device, or cannot be read."""
    try:
        return read_regular(file, _MAX_INPUT_BYTES)
    except OSError:
        return b""


def _read_text(file: Path) -> str:
    """Return the text of an input; empty if it is no regular file, as a link to a device, or cannot be read."""
    return _read_bytes(file).decode(errors="replace")


def _uses_mpi(program: Path) -> bool:
    """Return whether a program is linked with a library of MPI."""
    return any(library.startswith("libmpi") for library in list_needed_libraries(program))


def _lacks_arguments(tried_command: TriedCommand) -> bool:
    """Return whether a program did no work without arguments, so that its usage may say which ones it needs."""
    run = tried_command.run
    has_arguments = bool(run.file) or run.only_describes_itself or run.is_server
    return not has_arguments and (tried_command.prints_usage or not (tried_command.faults or tried_command.timed_out))


def _may_have_sizes(tried_command: TriedCommand, tree: Path) -> bool:
    """Return whether the help of a program that works without arguments may name the sizes of its computation.

    Tests are numerous, and only those of MPI may be whole computations.
    """
    run = tried_command.run
    is_bare = run.may_do_nothing and " " not in run.command and not run.is_server
    is_quick = tried_command.did_work and tried_command.cpu_seconds < LONG_CPU_SECONDS
    return is_bare and is_quick and (not run.is_test or _uses_mpi(tree / get_program(run)))


def _add_arguments(run: RunProposal, variants: Iterable[str]) -> list[RunProposal]:
    """Return a command with each of several texts after it: arguments that give it work."""
    return [replace(run, command=f"{run.command} {arguments}", may_do_nothing=False) for arguments in variants]


def _may_need_port(tried_command: TriedCommand) -> bool:
    """Return whether a command may be a server that asks for its port: neither a test nor a benchmark."""
    run = tried_command.run
    may_start = run.may_do_nothing or run.command.startswith((*_PYTHON_STARTS, "node "))
    return _lacks_arguments(tried_command) and may_start and not run.is_test and not _BENCHMARK.search(run.command)


def _list_variants(run: RunProposal, earlier_results: Sequence[TriedCommand]) -> list[RunProposal]:
    """Return a command and, for the first file of a kind, the command that passes the file as standard input.

    The next input is passed so too if the output was the same as without the one before: a program that counts
    something may find none of it in one file. For a program that has done work with a file as standard input, only
    that way is returned.
    """
    if not run.file or run.is_folder or run.command.startswith(_ANY_SHELL_START):
        return [run]
    results_with_files = [result for result in earlier_results if result.run.file]
    redirected = next(
        (result.run for result in results_with_files if result.did_work and is_redirected(result.run)), None
    )
    if redirected:
        argument = _STANDARD_INPUT_ARGUMENT if f" {_STANDARD_INPUT_ARGUMENT} < " in redirected.command else ""
        return [] if run.is_fallback else [redirect_file_to_input(run, argument)]
    is_kind_tried = any(bool(result.run.stand_in_file) is bool(run.stand_in_file) for result in results_with_files)
    may_read_another = bool(run.input_file) and any(
        result.problem == _SAME_OUTPUT and result.run.input_file and result.seconds < SLOW_SECONDS
        for result in results_with_files
    )
    return [run] if is_kind_tried and not may_read_another else [run, redirect_file_to_input(run)]


def _find_load_generator(name: str, programs: Iterable[BuiltProgram]) -> str:
    """Return how a load generator is started: the host's, else the one that was built; empty if there is none."""
    if shutil.which(name, path=PROCESS_VARIABLES["PATH"]):
        return name
    return next((get_start_command(program.name) for program in programs if Path(program.name).name == name), "")


def _ask_http_status(server: ServerExecution, port: int) -> int:
    """Return the HTTP status with which a server answers a request for its first page; 0 if it does not speak HTTP."""
    try:
        ask = ("bash", "-c", _ASK_HTTP, "ask", str(port))
        match = _HTTP_STATUS.match(server.run_command_in_server_network(ask, _ANSWER_SECONDS).output)
    except ExecutionFailure:
        return 0
    return int(match[1]) if match else 0


def redirect_file_to_input(run: RunProposal, argument: str = "") -> RunProposal:
    """Return a command that starts only the program, with its file as standard input; other arguments are left out.

    So the program can neither remove the file nor write next to it.

    Parameters
    ----------
    argument
        An argument by which the program reads its standard input; empty if it needs none.
    """
    program = get_program(run)
    program_word = re.search(rf"(?<!\S){re.escape(program)}(?!\S)", run.command)
    start = run.command[: program_word.end()] if program_word else program  # with its interpreter, if it has one
    start += f" {argument}" if argument else ""
    return replace(run, command=build_shell_command(f"exec {start} < {run.file}"), program=program)


def _add_argument(command: str, argument: str) -> str:
    """Return a command with a further argument of its program, which a shell may start as its last step."""
    is_shell_command = command.startswith(_ANY_SHELL_START)
    return f"{command[:-1]} {argument}'" if is_shell_command else f"{command} {argument}"


def _enters_folder(run: RunProposal) -> bool:
    """Return whether a command executes its program in a folder, without a file, or with the folder as its input."""
    return starts_in_folder(run) or (run.command.startswith(_FOLDER_START) and not run.file)


def _split_at_file(run: RunProposal) -> tuple[str, str]:
    """Return a command up to its file, where another option can be inserted, and the rest of it."""
    if _enters_folder(run):
        return run.command[:-1], run.command[-1]
    redirection = " <" if is_redirected(run) else ""
    # The command may contain the larger input that was made from its file.
    for file in (run.file, name_larger_file(run.file)) if run.file else ():
        start, separator, _ = run.command.partition(f"{redirection} {file}")
        if separator:
            return start, run.command.removeprefix(start)
    return run.command, ""


def _is_clearly_narrower(counts: Sequence[int], wider_counts: Sequence[int]) -> bool:
    """Return whether the range of counts is much narrower than that of other counts.

    Each range is a share of its counts, as a change is: without its collector, a program takes many more faults. A few
    outliers, which occur on one side by chance, widen a range but not that of the middle half.
    """
    share, middle_share = _measure_range(counts), _measure_middle_range(counts)
    wider_share, wider_middle_share = _measure_range(wider_counts), _measure_middle_range(wider_counts)
    is_repeated = min(len(counts), len(wider_counts)) > _RUNS_PER_TRIAL
    has_narrower_middle = is_repeated and middle_share * _MIN_MIDDLE_RATIO < wider_middle_share and share <= wider_share
    ratio = _MIN_RANGE_RATIO if is_repeated else _MIN_RANGE_RATIO_OF_ONE_TRIAL
    return has_narrower_middle or share * ratio <= wider_middle_share


def _measure_range(counts: Sequence[int]) -> float:
    """Return the range of counts, at least one fault, as a share of the smallest."""
    return max(max(counts) - min(counts), 1) / min(counts)


def _measure_middle_range(counts: Sequence[int]) -> float:
    """Return the range of the middle half of counts as a share of the smallest count."""
    ordered_counts = sorted(counts)
    n_outer = len(ordered_counts) // 4
    return (ordered_counts[-1 - n_outer] - ordered_counts[n_outer]) / min(counts)


def hide_build_path(text: str) -> str:
    """Return a text with ``.`` for the path of a build's tree."""
    return _BUILD_PATH.sub(".", text)


def describe_build_failure(failure: BuildFailure | FaultwatchError) -> str:
    """Return why a build failed, with the end of its log; for an error of this host, with its remedy instead."""
    if isinstance(failure, FaultwatchError):
        return f"{failure.what}" + (f" ({failure.remedy})" if failure.remedy else "")
    log = hide_build_path(failure.build.log)
    lines = [line for line in log.splitlines() if not _UNINFORMATIVE_LINE.match(line)]
    last_lines = [f"    {line[:_MAX_LOG_LINE_CHARACTERS]}" for line in lines[-_MAX_LOG_LINES:]]
    return "\n".join([failure.message, *last_lines])
