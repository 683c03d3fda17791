"""Builds a project in the ways that its files suggest, tries its programs, and lets the user choose one."""

import re
import shlex
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.cli.activity import show_activity
from runner.cli.questions import Questions
from runner.cli.terminal import print_message
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.proposal import BuildProposal, RunProposal
    from runner.adoption.tried_command import TriedCommand
    from runner.subject.build import BuildFailure
    from runner.subject.missing_packages import MissingPart

DRIVER_HINT = (
    "for a library, write a small driver program in a separate folder, with a workload.toml{} that builds the library "
    "and the driver; `faultwatch init FOLDER` then measures the driver and writes the CI file"
)
_ONE_TARGET_HINT = (
    "build a single target, for example with --build "
    "\"sh -c 'cmake -B build && cmake --build build --target PROGRAM'\", and pass its program with --run"
)
_NETWORK_HINT = (
    "the build downloads files that this host cannot reach: give the host access to the network, or keep the files in "
    "the repository or on this host, and use --build to pass a build command that uses them"
)
_MAX_REBUILD_SECONDS = 180
"""A build that takes longer is not repeated for a larger input."""
_MAX_BENCHMARK_BUILDS = 2
"""How many builds of benchmarks are tried in place of a command that hardly works."""
_LONG_BUILD_SECONDS = 60
"""If a build takes longer than this, in seconds, only the chosen program's target is built, if possible."""
_COMPILER_ERROR = re.compile(r"(?:^|: )(?:fatal )?error: (?!.*: No such file)|^Error: (?:Symbol|Syntax|Invalid|Type)")
"""What compilers of C, C++ and Fortran say about code that they reject."""
_ONLY_PRINTS_USAGE = ", but it only prints its usage"
_NO_PROGRAM = "the build produces no executable program"


class BuildAndRunChoice(Struct, frozen=True):
    """The proposed build and command.

    Attributes
    ----------
    proposal, tried_command
        How to build, and the command to measure with its trial counts.
    failures
        Commands that were tried and failed.
    start_faults
        The faults that the program takes without an input; 0 if unknown.
    missing_parts
        What builds of more parts of the project lack, such as packages or the network, each with its remedy.
    tried_settings
        The assignments of variables, and the command, with which the count still varies; empty if it does not.
    """

    proposal: "BuildProposal"
    tried_command: "TriedCommand"
    failures: tuple["TriedCommand", ...] = ()
    start_faults: int = 0
    missing_parts: tuple[str, ...] = ()
    tried_settings: tuple[str, ...] = ()


class _BuildError(Struct, frozen=True):
    """The first error of a way to build that failed.

    Attributes
    ----------
    missing_part
        The tool or package that the build lacks, with its remedy; empty if unknown.
    system
        The build system.
    """

    text: str
    missing_part: str
    system: str


def choose_build_and_run(
    first_measurement: "FirstMeasurement",
    questions: Questions,
    *,
    build: str | None = None,
    run: str | None = None,
    missing_submodules: tuple[str, ...] = (),
    unreliable_command: str = "",
) -> BuildAndRunChoice:
    """Choose how to build the project and which command to measure.

    If no program of a build works, other builds are tried: the next one may install what the programs need, and another
    build system may build other programs. If the programs only start, another build may provide benchmarks or tests.

    Parameters
    ----------
    build, run
        The commands that the user passed; None to find them.
    missing_submodules
        Submodules that the clone lacks.
    unreliable_command
        A command that worked in its trial, but failed when it was measured, so that it is not chosen, with or without
        its input.

    Raises
    ------
    FaultwatchError
        No build succeeds, or none of the built programs can be measured.
    """
    from runner.adoption.command_choice import has_command_with_work

    # Build one way after the other until a program does some work.
    proposals = _list_proposals(first_measurement, build, run, missing_submodules)
    failures: list[TriedCommand] = []
    build_errors: list[_BuildError] = []
    finished_builds: list[tuple[BuildProposal, list[TriedCommand]]] = []
    working_build: tuple[BuildProposal, Path, list[TriedCommand]] | None = None
    while proposals:
        try:
            proposal, tree = _build_project(
                first_measurement, questions, proposals, build, run, missing_submodules, build_errors
            )
        except FaultwatchError:
            if working_build or failures:
                break  # propose the command of an earlier build, or explain why its commands failed
            raise
        tried_commands = [
            result
            for result in _try_commands(first_measurement, proposal, tree, run)
            if not unreliable_command.startswith(result.run.command)
        ]
        made_choice = None if run else _try_made_input(first_measurement, proposal, tree, tried_commands)
        proposal, tree, tried_commands = made_choice or (proposal, tree, tried_commands)
        failures += [result for result in tried_commands if not result.faults]
        finished_builds.append((proposal, tried_commands))
        programs_start = any(result.faults for result in tried_commands)
        if programs_start and (working_build is None or _is_better(tried_commands, working_build[2])):
            working_build = (proposal, tree, tried_commands)
        does_work = has_command_with_work(tried_commands)
        if does_work or (programs_start and run):
            break
        proposals = [other for other in proposals if _may_run_more_work(other, proposal, tried_commands)]
    if working_build is None:
        build_failure = _explain_missing_part(first_measurement, build_errors, finished_builds)
        if build_failure:
            raise build_failure
        if not failures:  # only after a build command of the user's is no command tried
            raise FaultwatchError(
                f"no program could be measured: {_NO_PROGRAM}",
                f"{_suggest_remedy(build, missing_submodules, _NO_PROGRAM)}, or pass the command to measure with --run",
            )
        raise _explain_failure(first_measurement, failures, run, build_errors, finished_builds, missing_submodules)
    proposal, tree, tried_commands = working_build
    # Choose the command, an input with which it does more work, and the variables under which its count repeats.
    chosen_command = _ask_user(questions, tried_commands, run)
    start_faults = _count_start_faults(first_measurement, proposal, tree, chosen_command, tried_commands)
    proposal, tree, chosen_command, start_faults = _choose_larger_input(
        first_measurement, proposal, tree, chosen_command, tried_commands, start_faults
    )
    if run is None:
        found_choice = _find_benchmark(first_measurement, proposals, chosen_command, start_faults)
        proposal, tree, chosen_command, start_faults = found_choice or (proposal, tree, chosen_command, start_faults)
    proposal, tree, chosen_command = _build_chosen_target(first_measurement, proposal, tree, chosen_command)
    stable_command = _make_count_repeat(first_measurement, proposal, tree, chosen_command, may_change_options=not run)
    missing_parts = dict.fromkeys(filter(None, map(_describe_missing_part, build_errors)))
    varies = len(set(chosen_command.faults)) > 1 and len(set(stable_command.faults)) > 1
    tried_settings = (
        (*_list_assignments(first_measurement, proposal, chosen_command), stable_command.run.command)
        if varies and not chosen_command.run.is_server
        else ()
    )
    return BuildAndRunChoice(
        proposal, stable_command, tuple(failures), start_faults, tuple(missing_parts), tried_settings
    )


def _explain_missing_part(
    first_measurement: "FirstMeasurement",
    build_errors: Sequence[_BuildError],
    finished_builds: "Sequence[tuple[BuildProposal, list[TriedCommand]]]",
) -> FaultwatchError | None:
    """Return the error that a build lacks something; None if it lacks nothing, or if another build made programs."""
    missing_part = next((error.missing_part for error in build_errors if error.missing_part), "")
    # Scripts outside a package only help to develop the programs that were not built.
    if not missing_part or not all(build.runs_loose_scripts for build, _ in finished_builds):
        return None
    return FaultwatchError(
        f"{first_measurement.repository.name} was not built", f"{missing_part}; then start init again"
    )


def _find_benchmark(
    first_measurement: "FirstMeasurement",
    proposals: "list[BuildProposal]",
    chosen_command: "TriedCommand",
    start_faults: int,
) -> tuple["BuildProposal", Path, "TriedCommand", int] | None:
    """Return a build with benchmarks, its tree, the best of them, and 0 (the faults of its start are unknown).

    None if the chosen command needs no caveat, or if no other build has a benchmark that does work. A program whose
    input hardly makes it work has seemed to be better than its benchmarks until the input could not be made larger.

    Parameters
    ----------
    proposals
        The builds that have not been tried.
    start_faults
        The faults that the program of the chosen command takes without its input; 0 if unknown.
    """
    from runner.adoption.caveats import describe_caveat
    from runner.adoption.command_choice import choose_best_command, is_given_work
    from runner.subject.build import BuildFailure

    has_shortcoming = bool(describe_caveat(chosen_command, start_faults))
    with_benchmarks = [other for other in proposals if any(run.is_promising and not run.file for run in other.runs)]
    for other in with_benchmarks[:_MAX_BENCHMARK_BUILDS] if has_shortcoming else ():
        try:
            with show_activity("building benchmarks"):
                tree, _ = first_measurement.build(other)
        except (BuildFailure, FaultwatchError):
            continue
        print_message(f"{other.system}: {other.command or 'nothing to build'}")
        benchmark = choose_best_command(_try_commands(first_measurement, other, tree, None))
        if benchmark and is_given_work(benchmark) and not benchmark.run.file:
            return other, tree, benchmark, 0
    return None


def _describe_missing_part(error: _BuildError) -> str:
    """Return what a build that failed lacks, with its remedy: a tool, a package or the network; empty if unknown."""
    from runner.subject.offline_builds import find_network_error

    return error.missing_part or (_NETWORK_HINT if find_network_error(error.text) else "")


def _choose_larger_input(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    chosen_command: "TriedCommand",
    tried_commands: "list[TriedCommand]",
    start_faults: int,
) -> tuple["BuildProposal", Path, "TriedCommand", int]:
    """Return a build that makes a larger input or folder, its tree, the command with it, and the faults of its start.

    If no larger input causes more work, these are the given ones.

    Parameters
    ----------
    tried_commands
        All commands of the build.
    start_faults
        The faults that the program takes without an input; 0 if unknown.
    """
    from runner.adoption.command_choice import find_bare_command, list_commands_with_files
    from runner.adoption.larger_input import count_runtime_faults

    runtime_faults = count_runtime_faults(start_faults)
    for command_with_file in list_commands_with_files(chosen_command, tried_commands):
        larger_choice = _try_larger_input(
            first_measurement, proposal, tree, command_with_file, chosen_command, runtime_faults
        )
        if larger_choice:
            return (*larger_choice, start_faults)
    # A program that is only given a stand-in, with which it does less than without, may also work on its folder.
    bare_command = find_bare_command(chosen_command, tried_commands)
    larger_folder_choice = _try_larger_folder(first_measurement, proposal, tree, bare_command or chosen_command)
    return larger_folder_choice or (proposal, tree, chosen_command, start_faults)


def _make_count_repeat(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    chosen_command: "TriedCommand",
    *,
    may_change_options: bool,
) -> "TriedCommand":
    """Return the chosen command with the variables, or the option, with which its count repeats, or varies less.

    Parameters
    ----------
    may_change_options
        Whether the program's own option for a single thread may be added.
    """
    from runner.adoption.stable_count_trials import find_single_thread_command, find_stable_environment

    stable_command = find_stable_environment(first_measurement, proposal, chosen_command, tree)
    if stable_command is not chosen_command:
        variables = " ".join(f"{name}={value}" for name, value in stable_command.run.environment.items())
        behaviour = "does not vary" if len(set(stable_command.faults)) == 1 else "varies less"
        print_message(f"  with {variables}: {_format_range(stable_command.faults)} minor faults; the count {behaviour}")
    elif len(set(chosen_command.faults)) > 1:
        tried_assignments = _list_assignments(first_measurement, proposal, chosen_command)
        print_message(f"  with {' '.join(tried_assignments)}: the count still varies")
    if may_change_options and len(set(stable_command.faults)) > 1:
        single_thread = find_single_thread_command(first_measurement, proposal, chosen_command, tree)
        if single_thread is not None:
            stable_command = single_thread
            print_message(
                f"  {single_thread.run.command}: {_format_range(single_thread.faults)} minor faults; the count does "
                "not vary"
            )
    return stable_command


def _list_assignments(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", tried_command: "TriedCommand"
) -> list[str]:
    """Return the assignments of variables that are tried to make the count of a command repeat."""
    from runner.adoption.stable_count_trials import list_variables

    assignments = (
        f"{name}={value}"
        for variables in list_variables(first_measurement, proposal, tried_command.run)
        for name, value in variables.items()
    )
    return list(dict.fromkeys(assignments))


def _count_start_faults(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    chosen_command: "TriedCommand",
    tried_commands: "list[TriedCommand]",
) -> int:
    """Return the faults that the chosen command's program takes to start; 0 if unknown.

    This is its count without an input. If that exceeds the count with the input, the program does other work without
    one; its count while it prints its version or usage is then used instead.
    """
    from runner.adoption.command_choice import count_start_faults, list_descriptions
    from runner.adoption.command_trials import try_runs

    start_faults = count_start_faults(chosen_command, tried_commands)
    if start_faults <= min(chosen_command.faults):
        return start_faults
    descriptions = list_descriptions(chosen_command, first_measurement.list_run_proposals(proposal, tree))
    with show_activity("trying what was built") as show_progress:
        described_commands = list(try_runs(first_measurement, proposal, descriptions, tree, show_progress))
    return count_start_faults(chosen_command, described_commands)


def _is_better(tried_commands: "list[TriedCommand]", earlier: "list[TriedCommand]") -> bool:
    """Return whether a command of a build reads an input, or does any work, and none of an earlier build did."""
    from runner.adoption.command_choice import has_command_with_work

    has_input, had_input = has_command_with_work(tried_commands), has_command_with_work(earlier)
    does_work = any(result.did_work for result in tried_commands)
    did_work = any(result.did_work for result in earlier)
    return (has_input and not had_input) or (does_work and not did_work)


def _try_larger_input(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    small_result: "TriedCommand",
    chosen_command: "TriedCommand",
    runtime_faults: int,
) -> tuple["BuildProposal", Path, "TriedCommand"] | None:
    """Return a build that makes a larger input, its tree, and the command to measure, perhaps of another program.

    None if the input need not be larger, if the build fails or would take too long, or if no program does more work
    with the larger input. In these cases, the small input is measured.

    Parameters
    ----------
    small_result
        The result of the command with the small input.
    chosen_command
        The result of the command that is measured otherwise, perhaps with another input.
    runtime_faults
        The faults with which the program's runtime starts.
    """
    from runner.adoption.larger_input import does_enough_work, takes_more
    from runner.subject.build import BuildFailure

    if chosen_command.run.input_file and does_enough_work(chosen_command, runtime_faults):
        return None
    try:
        found_build = _find_larger_input(first_measurement, proposal, tree, small_result, runtime_faults)
        if found_build is None:
            return None
        build, tried_command = found_build
        if chosen_command.run.file and not takes_more(tried_command, chosen_command):
            return None
        with show_activity("building with a larger input"):
            larger_tree, _ = first_measurement.build(build)
    except (OSError, BuildFailure, FaultwatchError):  # OSError: the small input cannot be read
        return None
    print_message(
        f"  {tried_command.run.command}: {_format_range(tried_command.faults)} minor faults; "
        f"the build makes its input file from copies of {small_result.run.file}"
    )
    return build, larger_tree, tried_command


def _find_larger_input(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    small_result: "TriedCommand",
    runtime_faults: int,
) -> tuple["BuildProposal", "TriedCommand"] | None:
    """Return a build that makes a larger input with which a program is quick, and the command with it; None if none.

    If the program is slow with the input, it gets a smaller one. The project itself is not built again.
    """
    from runner.adoption.command_trials import try_runs
    from runner.adoption.larger_input import LARGE_BYTES, propose_larger_input, reduce_size
    from runner.adoption.proposal import add_build_step

    max_bytes = LARGE_BYTES
    size = first_measurement.get_input_size(small_result.run, tree)
    while larger_proposal := propose_larger_input(small_result, size, runtime_faults, max_bytes):
        if _takes_long_to_build(first_measurement, proposal):
            return None
        step, run = larger_proposal
        build = add_build_step(proposal, step)
        with (
            show_activity("making a larger input") as show_progress,
            first_measurement.extend_build(proposal, step, tree) as extended_tree,
        ):
            # Take only the first result. If the command fails, the second trial passes the file as standard input,
            # which cannot be compared with the trial of the small file.
            result = next(iter(try_runs(first_measurement, build, [run], extended_tree, show_progress)))
            max_bytes = reduce_size(max_bytes, result)
            if max_bytes:
                continue
            found_command = _find_command_with_more_work(
                first_measurement, build, result, small_result, extended_tree, show_progress, runtime_faults
            )
            return (build, found_command) if found_command else None
    return None


def _build_chosen_target(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", tree: Path, chosen_command: "TriedCommand"
) -> tuple["BuildProposal", Path, "TriedCommand"]:
    """Return the build of the chosen program's target alone, its tree, and the command's result.

    Each gate builds both of its sides, and a large project may build all of its tests by default. If the whole build is
    quick, or if the target alone does not build a program that works alike, these are the given ones.
    """
    from runner.adoption.command_choice import take_similar_faults
    from runner.adoption.command_trials import try_runs
    from runner.adoption.server_proposals import get_program
    from runner.adoption.systems.cmake import propose_single_target
    from runner.subject.build import BuildFailure

    given = proposal, tree, chosen_command
    target_build = propose_single_target(proposal, get_program(chosen_command.run))
    if target_build is None:
        return given
    _, whole_build = first_measurement.build(proposal)  # from the cache
    if whole_build.seconds < _LONG_BUILD_SECONDS:
        return given
    try:
        with show_activity("building the chosen program alone") as show_progress:
            target_tree, build = first_measurement.build(target_build)
            results = list(try_runs(first_measurement, target_build, [chosen_command.run], target_tree, show_progress))
    except (BuildFailure, FaultwatchError):
        return given
    result = next((result for result in results if result.run == chosen_command.run), None)
    works_alike = result is not None and result.did_work and take_similar_faults(result, chosen_command)
    if result is None or not works_alike or build.seconds > whole_build.seconds / 2:
        return given
    print_message(f"  built alone in {build.seconds:.1f} s: the gate builds only this program")
    return target_build, target_tree, result


def _try_larger_folder(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", tree: Path, chosen_command: "TriedCommand"
) -> tuple["BuildProposal", Path, "TriedCommand", int] | None:
    """Return a build that makes a folder with many files, its tree, and the command that starts the program there.

    The last element is the number of faults that the program takes in an empty folder. None unless the program works on
    the folder in which it starts, and does much more work there than in an empty one; also if the build fails or would
    take long.
    """
    from runner.adoption.command_trials import try_runs
    from runner.adoption.input_trials import find_folder_to_copy
    from runner.adoption.larger_folder import propose_larger_folder
    from runner.adoption.larger_input import does_more_work
    from runner.adoption.proposal import add_build_step
    from runner.subject.build import BuildFailure

    copied_folder = find_folder_to_copy(first_measurement, proposal, chosen_command, tree)
    if copied_folder is None or _takes_long_to_build(first_measurement, proposal):
        return None
    folder, n_copies = copied_folder
    step, *runs = propose_larger_folder(chosen_command.run, folder, n_copies)
    build = add_build_step(proposal, step)
    try:
        with (
            show_activity("making a folder of files") as show_progress,
            first_measurement.extend_build(proposal, step, tree) as extended_tree,
        ):
            tried_command, result_in_empty_folder = (
                next(iter(try_runs(first_measurement, build, [run], extended_tree, show_progress))) for run in runs
            )
        start_faults = min(result_in_empty_folder.faults, default=0)
        if not start_faults or not does_more_work(tried_command, result_in_empty_folder, start_faults):
            return None
        with show_activity("building with a folder of files"):
            larger_tree, _ = first_measurement.build(build)
    except (BuildFailure, FaultwatchError):
        return None
    print_message(
        f"  {tried_command.run.command}: {_format_range(tried_command.faults)} minor faults; "
        f"the build makes the folder from copies of {folder}"
    )
    return build, larger_tree, tried_command, start_faults


def _takes_long_to_build(first_measurement: "FirstMeasurement", proposal: "BuildProposal") -> bool:
    """Return whether a finished build took so long that it is not repeated for a larger input."""
    _, cached_build = first_measurement.build(proposal)
    return cached_build.seconds > _MAX_REBUILD_SECONDS


def _find_command_with_more_work(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    larger_result: "TriedCommand",
    small_result: "TriedCommand",
    tree: Path,
    show_progress: Callable[[str], None],
    runtime_faults: int,
) -> "TriedCommand | None":
    """Return a command that does more work with the larger input, perhaps of another program; None if there is none.

    Parameters
    ----------
    larger_result
        The result of the command with the larger input.
    small_result
        The result of the same command with the small input.
    runtime_faults
        The faults with which the program's runtime starts.
    """
    from runner.adoption.command_trials import try_runs
    from runner.adoption.larger_input import does_more_work, list_runs_of_other_programs

    def try_run(run: "RunProposal") -> "TriedCommand":
        return next(iter(try_runs(first_measurement, proposal, [run], tree, show_progress)))

    if does_more_work(larger_result, small_result, runtime_faults):
        return larger_result
    for small_run, larger_run in list_runs_of_other_programs(
        first_measurement.list_run_proposals(proposal, tree), small_result
    ):
        other_small = try_run(small_run)
        if not other_small.did_work:
            continue
        other = try_run(larger_run)
        # It has to do more with the larger input than with the small one, or else only its start is larger than that of
        # the first program; and more than the first program with the small input, or else that one may as well be
        # measured. The faults of the runtime are those of the first program, so they do not count as its start.
        if does_more_work(other, other_small) and does_more_work(other, small_result):
            return other
    return None


def _may_run_more_work(
    other_proposal: "BuildProposal", built_proposal: "BuildProposal", tried_commands: "list[TriedCommand]"
) -> bool:
    """Return whether another build may provide a program that does more work than the programs of a finished build.

    Parameters
    ----------
    tried_commands
        The commands of the finished build. They fail, print only a version or their usage, or only start.
    """
    if tried_commands and other_proposal.runs_loose_scripts and not built_proposal.runs_loose_scripts:
        return False
    if any(result.faults for result in tried_commands) and other_proposal.runs:
        # The programs start. A build with its own commands is worth the time only if these are different, and promise
        # work.
        promises_work = any(not run.may_do_nothing or run.is_test for run in other_proposal.runs)
        return other_proposal.runs != built_proposal.runs and promises_work
    if other_proposal.is_reduced and built_proposal.is_reduced:
        # The project is not built as a whole: other parts of it may do the work that this one does not.
        return True
    if any(result.did_work and not result.takes_only_start for result in tried_commands):
        return False
    # Another variant of the same programs would be a waste of time. Another build system may build other programs.
    return bool(other_proposal.runs) or other_proposal.system != built_proposal.system or other_proposal.builds_tests


def _list_proposals(
    first_measurement: "FirstMeasurement", build: str | None, run: str | None, missing_submodules: tuple[str, ...]
) -> list["BuildProposal"]:
    """Return the ways to build the project, the most likely first; only the user's command if ``build`` is given.

    Raises
    ------
    FaultwatchError
        The project has no known build, and the user has given no command.
    """
    from runner.adoption.build_system_detection import explain_missing_build, propose_builds
    from runner.adoption.own_code import has_no_code
    from runner.adoption.proposal import BuildProposal
    from runner.adoption.tool_environment import add_tool_paths
    from runner.adoption.version_from_git import detect_version_from_git
    from runner.subject.package_managers import GO, GO_CACHE_VARIABLES, PIP, find_managers

    proposals = propose_builds(first_measurement.sources)
    if build is not None:
        package_managers = find_managers([build])
        # The user's command probably also runs the tool that derives the version from the history.
        git_version = detect_version_from_git(first_measurement.sources, *(proposal.system for proposal in proposals))
        variables = {manager.variable: manager.setting for manager in package_managers}
        if GO in package_managers:
            variables |= GO_CACHE_VARIABLES
        proposals = [
            BuildProposal(
                "your command",
                build,
                # The host needs these tools, except pip, because a virtual environment has its own.
                tuple(manager.programs[0] for manager in package_managers if manager is not PIP),
                variables | dict(git_version.variables),
                min_versions=next((proposal.min_versions for proposal in proposals if proposal.min_versions), {}),
                git=git_version.git,
            )
        ]
    if not proposals and run is not None:
        proposals = [BuildProposal("no build system that init knows", "")]
    if not proposals:
        reason = explain_missing_build(first_measurement.sources)
        if has_no_code(first_measurement.sources):
            remedy = "the project may have moved: its README may name the new URL"
            raise FaultwatchError(f"{first_measurement.repository.path} {reason}", remedy)
        raise FaultwatchError(
            f"{first_measurement.repository.path} {reason}",
            f"pass the commands with --build and --run; or, {DRIVER_HINT.format('')}",
        )
    return [replace(add_tool_paths(proposal), incomplete=bool(missing_submodules)) for proposal in proposals]


def _build_project(
    first_measurement: "FirstMeasurement",
    questions: Questions,
    proposals: list["BuildProposal"],
    build: str | None,
    run: str | None,
    missing_submodules: tuple[str, ...],
    build_errors: "list[_BuildError]",
) -> tuple["BuildProposal", Path]:
    """Build the project in the first way that works; remove all ways that were tried from ``proposals``.

    Parameters
    ----------
    build_errors
        Receives the first error of each way that fails, except builds without downloads, which may only lack a package.

    Raises
    ------
    FaultwatchError
        The commit cannot be checked out, or no way works. The message then names the missing package, or the first
        error of the most likely way.
    """
    from runner.adoption.build_retries import list_build_retries
    from runner.adoption.tool_environment import describe_tools
    from runner.contract.report import Stage
    from runner.subject.build import BuildFailure

    first_error, is_error_offline, shown_tools, is_too_slow = "", False, "", False
    missing_part: MissingPart | None = None
    reasons: set[str] = set()
    while proposals:
        proposal = proposals.pop(0 if build is not None else _ask_for_build(questions, proposals))
        tool_names, missing_tools = describe_tools(proposal)
        if tool_names and tool_names != shown_tools:
            print_message(f"uses {tool_names}")
            shown_tools = tool_names
        try:
            with show_activity(f"building {first_measurement.revision.commit[:10]}"):
                tree, build_result = first_measurement.build(proposal)
        except (BuildFailure, FaultwatchError) as failure:
            if isinstance(failure, BuildFailure) and failure.stage is Stage.CHECKOUT:
                raise FaultwatchError(
                    f"{first_measurement.revision.commit[:10]} cannot be checked out: {failure.message}"
                ) from None
            # Explain the failure.
            part = _find_missing_part(first_measurement, proposal, failure)
            retries = list_build_retries(first_measurement.sources, proposal, failure, part) if build is None else []
            missing_part = missing_part or (None if retries else part)
            is_part_found = bool(retries) and retries[0].environment.get("PATH") != proposal.environment.get("PATH")
            problem = _describe_problem(failure, part, missing_tools, is_part_found=is_part_found)
            part = None if is_part_found else part
            error = _get_first_error(failure) or problem.splitlines()[0]
            if not proposal.offline:
                build_errors.append(_BuildError(error, str(part) if part else "", proposal.system))
            if not first_error or is_error_offline:
                first_error = error
                # The error of a build without downloads is provisional: it may only be that a package is missing.
                is_error_offline = proposal.offline
            retries = _select_retries(proposal, retries, is_new_problem=_print_problem(problem, reasons))
            # Change what is tried next.
            if isinstance(failure, BuildFailure) and failure.timed_out:
                is_too_slow = True
                # A build that includes the tests takes even longer.
                proposals[:] = [other for other in proposals if not other.builds_tests]
            else:
                proposals[:0] = retries
            continue
        if build is not None or run is not None or first_measurement.list_run_proposals(proposal, tree):
            print_message(
                f"built in {build_result.seconds:.1f} s" + (", from the cache" if build_result.cached else "")
            )
            return proposal, tree
        print_message(_NO_PROGRAM)
        reasons.add(_NO_PROGRAM)
        if not proposal.is_reduced:
            # A build that makes less of the project has no program either.
            proposals[:] = [other for other in proposals if not other.is_reduced or other.system != proposal.system]
    if missing_part:
        raise FaultwatchError(
            f"{first_measurement.repository.name} was not built: {missing_part.name} is missing", missing_part.remedy
        )
    # That a library has no program is a more helpful message than why its benchmarks do not build.
    main_reason = _NO_PROGRAM if _NO_PROGRAM in reasons else first_error
    remedy = (
        _ONE_TARGET_HINT if is_too_slow and build is None else _suggest_remedy(build, missing_submodules, main_reason)
    )
    raise FaultwatchError(f"{first_measurement.repository.name} was not built: {main_reason}", remedy)


def _describe_problem(
    failure: "BuildFailure | FaultwatchError", part: "MissingPart | None", missing_tools: str, *, is_part_found: bool
) -> str:
    """Return why a build failed.

    Parameters
    ----------
    part
        What the build lacks; None if unknown.
    missing_tools
        Which tool is too old for the project; empty if none is.
    is_part_found
        Whether the part is a tool in a folder of this host, which the next attempt uses.
    """
    from runner.adoption.build_failure_text import describe_build_failure

    if part and is_part_found:
        return f"{part.tool} is outside its PATH: the next attempt adds its folder"
    problem = str(part) if part else describe_build_failure(failure)
    return f"{missing_tools}; {problem}" if missing_tools else problem


def _select_retries(
    proposal: "BuildProposal", retries: "list[BuildProposal]", *, is_new_problem: bool
) -> "list[BuildProposal]":
    """Return the variants of a failed build that may work.

    If an earlier build has failed for the same reason, it has also failed with one job.
    """
    from runner.adoption.proposal import make_build_serial

    serial_build = make_build_serial(proposal)
    return [retry for retry in retries if is_new_problem or retry != serial_build]


def _print_problem(problem: str, reasons: set[str]) -> bool:
    """Print why a build failed, and return whether the reason is new; add it to ``reasons``."""
    reason = problem.partition("\n")[2] or problem  # the end of the build's log, if there is one
    is_new = reason not in reasons
    reasons.add(reason)
    if is_new:
        print_message(f"the project does not build this way: {problem}")
    else:
        print_message("the project does not build this way either, for the same reason")
    return is_new


def _ask_for_build(questions: Questions, proposals: list["BuildProposal"]) -> int:
    """Show the most likely way to build, and let the user choose one; return its index."""
    print_message(f"{proposals[0].system}: {proposals[0].command or 'nothing to build'}")
    labels = [proposal.command or f"nothing ({proposal.system})" for proposal in proposals]
    return questions.choose("How is the project built?", labels)


def _get_first_error(failure: Exception) -> str:
    """Return the first error in the log of a failed build; empty if there is none, or if the build timed out."""
    from runner.adoption.build_failure_text import hide_build_path
    from runner.subject.build import BuildFailure
    from runner.subject.build_errors import find_first_error

    if not isinstance(failure, BuildFailure) or failure.timed_out:
        return ""
    return hide_build_path(find_first_error(failure.build.log, failure.message))


def _find_missing_part(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", failure: Exception
) -> "MissingPart | None":
    """Return the tool or the package that a failed build lacks, by its message or its log; None if they name none."""
    from runner.subject.build import BuildFailure
    from runner.subject.missing_packages import find_missing_dependency

    if not isinstance(failure, BuildFailure):
        return None
    return _find_missing_tool(proposal, failure.message) or find_missing_dependency(
        failure.build.log, first_measurement.sources.files
    )


def _find_missing_tool(proposal: "BuildProposal", message: str) -> "MissingPart | None":
    """Return the first tool of a build whose package is named in the message about missing tools; None if none is."""
    from runner.subject.missing_packages import name_missing_tool

    parts = map(name_missing_tool, proposal.tools)
    return next((part for part in parts if part.packages and part.remedy in message), None)


def _suggest_remedy(build: str | None, missing_submodules: tuple[str, ...], reason: str) -> str:
    """Return the remedy for the case that no program could be built and run, for a reason."""
    from runner.adoption.systems.lenient_compilers import names_option
    from runner.subject.offline_builds import find_network_error

    if find_network_error(reason):
        return _NETWORK_HINT
    first_step = _suggest_fetch(missing_submodules)
    if build is not None:
        return f"{first_step}correct --build {shlex.quote(build)}"
    driver = DRIVER_HINT.format(" (`incomplete = true` in [build])" if missing_submodules else "")
    if _COMPILER_ERROR.search(reason) and not first_step:
        first_step = (
            "with --build, pass a build command whose compiler accepts this old code, by the option in brackets; or, "
            if names_option(reason)
            else "install a newer compiler if this host's is too old for the commit; otherwise, "
        )
    return f"{first_step}pass the commands with --build and --run; or, {driver}"


def _suggest_fetch(missing_submodules: tuple[str, ...]) -> str:
    """Return the beginning of a remedy that names the submodules which the clone lacks; empty if it lacks none."""
    return f"fetch the submodules ({', '.join(missing_submodules)}), or " if missing_submodules else ""


def _try_commands(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", tree: Path, run: str | None
) -> list["TriedCommand"]:
    """Try the user's ``run`` command, or else the commands that the build suggests; print and return the results."""
    from runner.adoption.command_choice import mark_imports
    from runner.adoption.proposal import RunProposal

    runs = [RunProposal(run)] if run else first_measurement.list_run_proposals(proposal, tree)
    return mark_imports(_try_and_print(first_measurement, proposal, runs, tree))


def _try_made_input(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", tree: Path, tried_commands: "list[TriedCommand]"
) -> tuple["BuildProposal", Path, "list[TriedCommand]"] | None:
    """Return a build that makes an input, its tree, and the tried commands with those that read the input.

    None if a command was given work without it, if no program asks for an input that can be made, or if none works with
    it.
    """
    from runner.adoption.command_choice import is_given_work
    from runner.adoption.input_trials import propose_made_input
    from runner.subject.build import BuildFailure

    if any(result.faults and is_given_work(result) for result in tried_commands):
        return None
    made_input = propose_made_input(first_measurement, proposal, tried_commands, tree)
    if made_input is None:
        return None
    build, runs = made_input
    try:
        with show_activity("building with an input"):
            new_tree, _ = first_measurement.build(build)
    except (BuildFailure, FaultwatchError):
        return None
    print_message(f"the project keeps no file in the format that its programs read: the build makes {runs[0].file}")
    results = _try_and_print(first_measurement, build, runs, new_tree)
    return (build, new_tree, [*tried_commands, *results]) if any(result.did_work for result in results) else None


def _try_and_print(
    first_measurement: "FirstMeasurement", proposal: "BuildProposal", runs: "list[RunProposal]", tree: Path
) -> "list[TriedCommand]":
    """Try commands; print and return the results."""
    from runner.adoption.command_trials import try_runs

    tried_commands: list[TriedCommand] = []
    previous_problem = ""
    with show_activity("trying what was built") as show_progress:
        for result in try_runs(first_measurement, proposal, runs, tree, show_progress):
            # Failures quote the command as its words, which may need other quotes than the proposal has.
            quoted_command = shlex.join(shlex.split(result.run.command))
            problem = result.problem.removeprefix(f"`{result.run.command}` ").removeprefix(f"`{quoted_command}` ")
            outcome = "fails in the same way" if problem and problem == previous_problem else problem
            previous_problem = problem
            if result.faults:
                outcome = f"{_format_range(result.faults)} minor faults"
                outcome += f" under the load of {result.run.load.command.split()[0]}" if result.run.load else ""
                outcome += _ONLY_PRINTS_USAGE if result.prints_usage else ""
            print_message(f"  {result.run.command}: {outcome}")
            tried_commands.append(result)
    return tried_commands


def _explain_failure(
    first_measurement: "FirstMeasurement",
    failures: "list[TriedCommand]",
    run: str | None,
    build_errors: Sequence[_BuildError],
    finished_builds: "Sequence[tuple[BuildProposal, list[TriedCommand]]]",
    missing_submodules: tuple[str, ...],
) -> FaultwatchError:
    """Return the error that no program could be measured, with the most likely remedy.

    Parameters
    ----------
    build_errors
        The errors of other builds, which failed. The programs may lack what these builds would have made.
    finished_builds
        The builds whose commands failed, with their results.
    """
    from runner.adoption.printed_text import find_missing_module, needs_terminal
    from runner.adoption.server_proposals import HOW_TO, render_example_workload
    from runner.subject.offline_builds import find_network_error

    # A server is the most promising failure, because it only needs a load.
    servers = [
        (build, result.run)
        for build, tried_commands in finished_builds
        for result in tried_commands
        if result.run.obstacle
    ]
    if servers:
        build, server = servers[0]
        name = first_measurement.sources.name
        text = render_example_workload(name, build, server)
        return FaultwatchError(
            f"no program could be measured: {server.obstacle}",
            "write this workload.toml, but replace LOAD_GENERATOR with a load generator or a script, and fill in the "
            f"number of its operations ({HOW_TO}):\n" + textwrap.indent(text.rstrip(), "    "),
        )
    failure = failures[0]
    error_texts = [error.text for error in build_errors]
    network_error = next(filter(find_network_error, error_texts), "")
    cause = None if run else _find_error_behind_failures(failures, build_errors, finished_builds)
    if missing_submodules and not run:
        # The build that failed would probably have made a better program than those that lack arguments.
        cause = cause or next(iter(build_errors), None)
    if cause:
        return FaultwatchError(
            f"{first_measurement.repository.name} was not built: {cause.text}; without this build, {failure.problem}",
            cause.missing_part or _suggest_remedy(None, missing_submodules, cause.text),
        )
    interactive_result = next((result for result in failures if needs_terminal(result.problem)), None)
    failure = interactive_result or failure
    module, _ = find_missing_module(failure.problem)
    tip = _suggest_other_command(failure, module, needs_terminal=interactive_result is not None)
    if run:
        is_explained = module or interactive_result or failure.timed_out
        tip = tip if is_explained else "correct --run, or make --build create the files that it needs"
        return FaultwatchError(f"{run!r} could not be measured: {failure.problem}", tip)
    if network_error and not (interactive_result or module):
        tip = _NETWORK_HINT  # the programs may lack what the build could not download
    other_error = f"; another build failed: {network_error or error_texts[0]}" if error_texts else ""
    return FaultwatchError(
        f"no program could be measured; {failure.run.command}, for example: {failure.problem}{other_error}", tip
    )


def _suggest_other_command(failure: "TriedCommand", missing_module: str, *, needs_terminal: bool) -> str:
    """Return how to pass a command that works in place of one that failed.

    Parameters
    ----------
    missing_module
        The Python module that the program lacks; empty if none.
    needs_terminal
        Whether the program failed because it needs a terminal.
    """
    if missing_module:
        return (
            f"make the build install {missing_module}, for example with --build \"sh -c 'python3 -m venv venv && "
            f"venv/bin/pip install {missing_module}'\" --run "
            f"'{failure.run.command.replace('python3 ', 'venv/bin/python ', 1)}'"
        )
    if needs_terminal:
        tip = "a measured program has no terminal: with --run, pass a command that needs no terminal"
    elif failure.timed_out:
        tip = "with --run, pass a command that takes a few seconds, for example with a smaller problem or input"
    else:
        # A command with a quote cannot be quoted here.
        example = "./program" if "'" in failure.run.command else failure.run.command
        tip = f"pass the arguments that it needs with --run, as in --run '{example} ARGUMENTS'"
    return f"{tip}; or, {DRIVER_HINT.format('')}"


def _find_error_behind_failures(
    failures: "list[TriedCommand]",
    build_errors: Sequence[_BuildError],
    finished_builds: "Sequence[tuple[BuildProposal, list[TriedCommand]]]",
) -> _BuildError | None:
    """Return the error of the build that would have made, or installed, what all programs lack; None if unknown.

    It is a build of the same system: what a Makefile builds, for example, is no module that a script of Node.js lacks.
    """
    from runner.adoption.printed_text import find_missing_code
    from runner.subject.offline_builds import find_network_error

    systems = {build.system for build, _ in finished_builds}
    candidates = [error for error in build_errors if error.system in systems]
    if not candidates or not all(find_missing_code(result.problem) for result in failures):
        return None
    return next((error for error in candidates if find_network_error(error.text)), candidates[0])


def _ask_user(questions: Questions, tried_commands: "list[TriedCommand]", run: str | None) -> "TriedCommand":
    """Let the user choose which of the working commands is measured; with --run, only its command was tried.

    At least one of the commands must work.
    """
    from runner.adoption.command_choice import choose_best_command

    chosen_command = choose_best_command(tried_commands)
    assert chosen_command
    working_commands = [
        chosen_command,
        *(result for result in tried_commands if result.faults and result is not chosen_command),
    ]
    if run is None:
        number = questions.choose("What is measured?", [result.run.command for result in working_commands])
        chosen_command = working_commands[number]
    return chosen_command


def _format_range(counts: tuple[int, ...]) -> str:
    """Return the lowest and the highest count as text, or the count if all are equal."""
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
