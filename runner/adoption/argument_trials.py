"""Tries a command with other arguments: with more work if it does little, and with less if it takes too long."""

import shlex
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from runner.adoption.benchmark_rounds import (
    ask_for_names,
    increase_rounds,
    list_benchmark_commands,
    reduce_rounds,
    skip_benchmarks,
)
from runner.adoption.command_choice import MAX_SECONDS, SLOW_SECONDS
from runner.adoption.first_measurement import MAX_QUICK_SECONDS, MAX_SEARCH_SECONDS, FirstMeasurement
from runner.adoption.help_options import list_scanned_options, list_shorter_options
from runner.adoption.input_files import list_inputs, list_stand_ins
from runner.adoption.larger_sizes import increase_sizes
from runner.adoption.printed_text import is_usage
from runner.adoption.program_text import find_program_text
from runner.adoption.proposal import ANY_SHELL_START, BuildProposal, RunProposal
from runner.adoption.server_proposals import get_program
from runner.adoption.size_arguments import list_size_arguments
from runner.adoption.tree_files import get_size, read_bytes
from runner.adoption.tried_command import LONG_CPU_SECONDS, TriedCommand
from runner.environment.needed_libraries import list_needed_libraries

_MIN_BENCHMARK_SECONDS = 0.1
"""A benchmark that takes less CPU time, in seconds, gets more rounds if it has a fixed number of them."""
_MAX_SLOW_SHARE = 0.25
"""If more benchmarks than this share are slow, they are what the suite is about."""
_HELP_OPTIONS = ("--help", "-h", "-help")
_MIN_SIZE_RATIO = 2
"""A command with the sizes that its help names has to take at least this many times the faults of the one without."""


def try_other_length(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a command that takes too long with less work, and one that hardly works with more work.

    Less work are fewer benchmarks or rounds of a suite, and an option of the program. More work are larger sizes in
    the command, and more rounds.
    """
    run = tried_command.run
    takes_too_long = tried_command.timed_out or tried_command.work_seconds > MAX_SECONDS
    if takes_too_long and reduce_rounds(run.command):
        return _try_fewer_benchmarks(first_measurement, proposal, tried_command, tree)
    if takes_too_long and not (run.file or run.is_test or run.is_server):
        return _try_shorter_run(first_measurement, proposal, tried_command, tree)
    larger_result = increase_sizes(tried_command, lambda run: first_measurement.try_run(proposal, run, tree))
    return _try_more_rounds(first_measurement, proposal, larger_result, tree)


def try_with_arguments(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a command that did no work with the sizes, or the program text and a file, that its usage asks for.

    Return the given result if the usage asks for other arguments, or if the command does not work with them.
    """
    run = tried_command.run
    answer = first_measurement.execute_command(proposal, run, tree)
    size_arguments, program_text = list_size_arguments(answer.output), find_program_text(answer.output)
    if size_arguments:
        further_runs = _add_arguments(run, size_arguments)
    elif program_text:
        inputs = list_inputs(first_measurement.sources, get_program(run), lambda file: get_size(tree / file))
        stand_ins = list_stand_ins(first_measurement.sources)
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
    further_result = _try_until_quick(first_measurement, proposal, further_runs, tree)
    return further_result if further_result.faults and not further_result.prints_usage else tried_command


def try_larger_sizes(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a command that works without arguments with the sizes that an option in its help takes.

    Return the given result if there is no such option, or if the command does not do much more work with it: a
    program of MPI takes thousands of faults to start.
    """
    run = tried_command.run
    for help_option in _HELP_OPTIONS:
        asking = replace(run, command=f"{run.command} {help_option}")
        answer = first_measurement.execute_command(proposal, asking, tree)
        size_arguments = list_size_arguments(answer.output)
        if size_arguments:
            result = _try_until_quick(first_measurement, proposal, _add_arguments(run, size_arguments), tree)
            takes_more = min(result.faults, default=0) >= _MIN_SIZE_RATIO * max(tried_command.faults)
            return result if takes_more and result.did_work else tried_command
        if answer.timed_out or is_usage(answer.output):
            break  # with another such option, it would only do the same
    return tried_command


def _try_until_quick(
    first_measurement: FirstMeasurement, proposal: BuildProposal, runs: Sequence[RunProposal], tree: Path
) -> TriedCommand:
    """Try commands, of which each takes less time than the one before; return the result of the first quick one."""
    for run in runs:
        result = first_measurement.try_run(proposal, run, tree)
        if not (result.timed_out or result.work_seconds > SLOW_SECONDS):
            break
    return result


def _try_more_rounds(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a benchmark that hardly computes with ever more of its fixed rounds, as long as it is quick.

    Benchmarks of microseconds take less than the start of their program otherwise. Return the given result if the
    command has no number of rounds, or computes for long enough.
    """
    best_result = tried_command
    while best_result.faults and 0 < best_result.cpu_seconds < _MIN_BENCHMARK_SECONDS:
        command = increase_rounds(best_result.run.command)
        if not command:
            break
        result = first_measurement.try_run(proposal, replace(best_result.run, command=command), tree)
        if not result.faults or result.work_seconds > SLOW_SECONDS:
            break
        best_result = result
    return best_result


def _try_fewer_benchmarks(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a suite of benchmarks that took long without its slow ones, or else with a single round of each.

    If many are slow, the single round comes first. Return the given result if neither works.
    """
    run = tried_command.run
    names, slow_names = _find_slow_benchmarks(first_measurement, proposal, run, tree)
    shorter = skip_benchmarks(run.command, slow_names) if 0 < len(slow_names) < len(names) else ""
    are_few = len(slow_names) <= _MAX_SLOW_SHARE * len(names)
    commands = [shorter, reduce_rounds(run.command)]
    for command in filter(None, commands if are_few else reversed(commands)):
        result = first_measurement.try_run(proposal, replace(run, command=command), tree)
        if result.faults:
            return result
    return tried_command


def _find_slow_benchmarks(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> tuple[list[str], list[str]]:
    """Return the names of a suite's benchmarks, and of those that are slow, fail, or could not be run in time.

    Each runs a single round alone: one whose preparation does not end would hide the others. Both lists are empty
    if the names are unknown.
    """
    asking = ask_for_names(run.command)
    if not asking:
        return [], []
    answer = first_measurement.execute_command(proposal, replace(run, command=asking), tree)
    commands = list_benchmark_commands(run.command, answer.output)
    ends_at = time.monotonic() + MAX_SEARCH_SECONDS
    slow_names = []
    for name, command in commands.items():
        is_quick = time.monotonic() < ends_at and _is_quick(
            first_measurement, proposal, replace(run, command=command), tree
        )
        slow_names += [] if is_quick else [name]
    return list(commands), slow_names


def _is_quick(first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path) -> bool:
    """Return whether one execution of a command succeeds and takes little CPU time."""
    result, _, cpu_seconds = first_measurement.execute_once(proposal, run, tree, SLOW_SECONDS)
    return result.status == 0 and cpu_seconds <= MAX_QUICK_SECONDS


def _try_shorter_run(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a command that took long with an option of its help, or of its own, by which it computes less.

    Return the given result if no such command works.
    """
    run = tried_command.run
    options: list[str] = []
    for help_option in _HELP_OPTIONS:
        asking = replace(run, command=_add_argument(run.command, help_option))
        answer = first_measurement.execute_command(proposal, asking, tree)
        options = list_shorter_options(answer.output)
        if options:
            break
    for option in options or list_scanned_options(read_bytes(tree / get_program(run))):
        shorter_run = first_measurement.try_run(
            proposal, replace(run, command=_add_argument(run.command, option), may_do_nothing=False), tree
        )
        if shorter_run.faults:
            return shorter_run
    return tried_command


def uses_mpi(program: Path) -> bool:
    """Return whether a program is linked with a library of MPI."""
    return any(library.startswith("libmpi") for library in list_needed_libraries(program))


def lacks_arguments(tried_command: TriedCommand) -> bool:
    """Return whether a program did no work without arguments, so that its usage may say which ones it needs."""
    run = tried_command.run
    has_arguments = bool(run.file) or run.only_describes_itself or run.is_server
    return not has_arguments and (tried_command.prints_usage or not (tried_command.faults or tried_command.timed_out))


def may_have_sizes(tried_command: TriedCommand, tree: Path) -> bool:
    """Return whether the help of a program that works without arguments may name the sizes of its computation.

    Tests are numerous, and only those of MPI may be whole computations.
    """
    run = tried_command.run
    is_bare = run.may_do_nothing and " " not in run.command and not run.is_server
    is_quick = tried_command.did_work and tried_command.cpu_seconds < LONG_CPU_SECONDS
    return is_bare and is_quick and (not run.is_test or uses_mpi(tree / get_program(run)))


def _add_arguments(run: RunProposal, variants: Iterable[str]) -> list[RunProposal]:
    """Return a command with each of several texts after it: arguments that give it work."""
    return [replace(run, command=f"{run.command} {arguments}", may_do_nothing=False) for arguments in variants]


def _add_argument(command: str, argument: str) -> str:
    """Return a command with a further argument of its program, which a shell may start as its last step."""
    is_shell_command = command.startswith(ANY_SHELL_START)
    return f"{command[:-1]} {argument}'" if is_shell_command else f"{command} {argument}"
