"""Tries the programs of a project in the ways to build it, and lets the user choose one."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.cli.activity import show_activity
from runner.cli.formatting import format_count_range
from runner.cli.init_builds import build_project, list_proposals
from runner.cli.init_larger_input import find_larger_input
from runner.cli.init_remedies import (
    NO_PROGRAM,
    BuildError,
    describe_missing_part,
    explain_failure,
    explain_missing_part,
    suggest_remedy,
)
from runner.cli.questions import Questions
from runner.cli.terminal import print_message
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.proposal import BuildProposal, RunProposal
    from runner.adoption.tried_command import TriedCommand

_MAX_BENCHMARK_BUILDS = 2
"""How many builds of benchmarks are tried in place of a command that hardly works."""
_LONG_BUILD_SECONDS = 60
"""If a build takes longer than this, in seconds, only the chosen program's target is built, if possible."""
_ONLY_PRINTS_USAGE = ", but it only prints its usage"


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
    proposals = list_proposals(first_measurement, build, run, missing_submodules)
    failures: list[TriedCommand] = []
    build_errors: list[BuildError] = []
    finished_builds: list[tuple[BuildProposal, list[TriedCommand]]] = []
    working_build: tuple[BuildProposal, Path, list[TriedCommand]] | None = None
    while proposals:
        try:
            proposal, tree = build_project(
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
        build_failure = explain_missing_part(first_measurement, build_errors, finished_builds)
        if build_failure:
            raise build_failure
        if not failures:  # only after a build command of the user's is no command tried
            raise FaultwatchError(
                f"no program could be measured: {NO_PROGRAM}",
                f"{suggest_remedy(build, missing_submodules, NO_PROGRAM)}, or pass the command to measure with --run",
            )
        raise explain_failure(first_measurement, failures, run, build_errors, finished_builds, missing_submodules)
    proposal, tree, tried_commands = working_build
    # Choose the command, an input with which it does more work, and the variables under which its count repeats.
    chosen_command = _ask_user(questions, tried_commands, run)
    start_faults = _count_start_faults(first_measurement, proposal, tree, chosen_command, tried_commands)
    larger_choice = find_larger_input(first_measurement, proposal, tree, chosen_command, tried_commands, start_faults)
    proposal, tree, chosen_command, start_faults = larger_choice or (proposal, tree, chosen_command, start_faults)
    if run is None:
        found_choice = _find_benchmark(first_measurement, proposals, chosen_command, start_faults)
        proposal, tree, chosen_command, start_faults = found_choice or (proposal, tree, chosen_command, start_faults)
    proposal, tree, chosen_command = _build_chosen_target(first_measurement, proposal, tree, chosen_command)
    stable_command = _make_count_repeat(first_measurement, proposal, tree, chosen_command, may_change_options=not run)
    missing_parts = dict.fromkeys(filter(None, map(describe_missing_part, build_errors)))
    varies = len(set(chosen_command.faults)) > 1 and len(set(stable_command.faults)) > 1
    tried_settings = (
        (*_list_assignments(first_measurement, proposal, chosen_command), stable_command.run.command)
        if varies and not chosen_command.run.is_server
        else ()
    )
    return BuildAndRunChoice(
        proposal, stable_command, tuple(failures), start_faults, tuple(missing_parts), tried_settings
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
        print_message(
            f"  with {variables}: {format_count_range(stable_command.faults)} minor faults; the count {behaviour}"
        )
    elif len(set(chosen_command.faults)) > 1:
        tried_assignments = _list_assignments(first_measurement, proposal, chosen_command)
        print_message(f"  with {' '.join(tried_assignments)}: the count still varies")
    if may_change_options and len(set(stable_command.faults)) > 1:
        single_thread = find_single_thread_command(first_measurement, proposal, chosen_command, tree)
        if single_thread is not None:
            stable_command = single_thread
            print_message(
                f"  {single_thread.run.command}: {format_count_range(single_thread.faults)} minor faults; "
                "the count does not vary"
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
                outcome = f"{format_count_range(result.faults)} minor faults"
                outcome += f" under the load of {result.run.load.command.split()[0]}" if result.run.load else ""
                outcome += _ONLY_PRINTS_USAGE if result.prints_usage else ""
            print_message(f"  {result.run.command}: {outcome}")
            tried_commands.append(result)
    return tried_commands


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
