"""Tries the commands of a build one after the other, to find out which of its programs can be measured."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from runner.adoption import argument_trials, input_trials, server_trials
from runner.adoption.built_programs import propose_documented_command
from runner.adoption.command_choice import SLOW_SECONDS, has_tried_enough, works_on_folder
from runner.adoption.documented_commands import list_help_commands
from runner.adoption.exit_status import accept_result_status
from runner.adoption.first_measurement import QUICK_TIMEOUT_SECONDS, FirstMeasurement
from runner.adoption.input_files import find_input_folder
from runner.adoption.needless_commands import (
    fails_slowly,
    has_enough_inputs,
    ignores_file,
    is_needless_command,
    lacks_code,
)
from runner.adoption.printed_text import find_missing_library, find_unopened_files
from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.server_proposals import get_program
from runner.adoption.sources import is_plain_path
from runner.adoption.subcommands import list_subcommand_runs
from runner.adoption.tried_command import TriedCommand
from runner.adoption.usage_arguments import list_usage_arguments, list_usage_runs
from runner.system.tree_walk import walk_tree


def try_runs(
    first_measurement: FirstMeasurement,
    proposal: BuildProposal,
    runs: Iterable[RunProposal],
    tree: Path,
    show_progress: Callable[[str], None],
) -> Iterator[TriedCommand]:
    """Execute commands, each a few times, until enough programs did some work; yield each result.

    Several programs without an input are tried, because the first may do hardly any work. A server is tried with a
    load. A program that works without arguments may only have started, so it is also tried with a file. If it fails
    with a file, it is tried with the file as its standard input; there it can neither remove the file nor write
    another one next to it.
    """
    programs: dict[str, list[TriedCommand]] = {}
    sorted_runs = input_trials.put_heaviest_tests_first(first_measurement, proposal, list(runs), tree)
    for run in _add_further_runs(first_measurement, proposal, sorted_runs, programs, tree):
        program = get_program(run)
        earlier_results = programs.get(program, [])
        if is_needless_command(run, earlier_results):
            continue
        if has_tried_enough(programs, program):
            return
        if has_enough_inputs(run, earlier_results):
            continue
        variants = input_trials.list_variants(run, earlier_results)
        for candidate in variants:
            show_progress(f"trying {candidate.command}")
            tried_command = _try_program_or_server(first_measurement, proposal, candidate, tree)
            tried_command = input_trials.ignore_varying_file_names(
                first_measurement, proposal, tried_command, earlier_results, tree
            )
            is_redirected_variant = candidate is not run
            if not is_redirected_variant and input_trials.takes_file_for_text(
                first_measurement, proposal, tried_command, earlier_results, tree
            ):
                tried_command = TriedCommand(
                    candidate,
                    (),
                    "it does not open the file: it behaves the same when given the name of a file that does not exist",
                )
                if input_trials.redirect_file_to_input(run) in variants:
                    # This loop tries it after the plain redirection.
                    variants.append(input_trials.redirect_file_to_input(run, input_trials.STANDARD_INPUT_ARGUMENT))
            if is_redirected_variant and tried_command.faults:
                problem = input_trials.describe_unread_input(first_measurement, proposal, candidate, tree)
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


def _add_further_runs(
    first_measurement: FirstMeasurement,
    proposal: BuildProposal,
    runs: Iterable[RunProposal],
    programs: Mapping[str, Sequence[TriedCommand]],
    tree: Path,
) -> Iterator[RunProposal]:
    """Yield the given commands, and commands that the results of a program's earlier commands suggest.

    These come just before the program's commands that only print a version or the usage: the input that causes
    the most faults, scripts with a number by which they choose how much they compute, a folder of inputs for a program
    that works on the folder in which it starts, and subcommands and examples, which are read from the help, for a
    program that has refused every file.

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
        heaviest_input = input_trials.find_heaviest_input(first_measurement, proposal, results, tree)
        if heaviest_input:
            yield heaviest_input
        yield from input_trials.list_runs_with_number(first_measurement, proposal, results, tree)
        if folder and any(works_on_folder(result, results) for result in results):
            command = f"{start_command} {folder}"
            yield replace(run, command=command, input_file=folder, may_do_nothing=False, is_folder=True)
        if is_refused:
            asking = replace(run, command=f"{start_command} --help")
            help_text = first_measurement.execute_command(proposal, asking, tree).output
            yield from list_subcommand_runs(start_command, help_text, file_runs)
            examples = list_help_commands(first_measurement.sources, program, help_text)
            yield from (propose_documented_command(start_command, example) for example in examples)
            usage = help_text
            if not list_usage_arguments(help_text):
                bare = replace(run, command=start_command)
                usage = first_measurement.execute_command(proposal, bare, tree, QUICK_TIMEOUT_SECONDS).output
            yield from list_usage_runs(start_command, usage, file_runs)
        yield run


def _try_program_or_server(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> TriedCommand:
    """Try a command. If it is found to be a server, try it with a load: a server does not end by itself.

    A command that is no server is tried once more if this may give a better result: with its failure status
    accepted as a result, with the sizes that its usage asks for, with an option that makes it take less time, or
    with more rounds.
    """
    if run.obstacle:
        return TriedCommand(run, (), run.obstacle)
    if run.from_service_file:
        server = server_trials.find_server(first_measurement, proposal, run, tree)
        if server:
            return server_trials.try_server(first_measurement, proposal, server, tree)
        # A container often starts a command-line tool; without arguments, it has no work.
        return first_measurement.try_run(proposal, replace(run, may_do_nothing=" " not in run.command), tree)
    tried_command = first_measurement.try_run(proposal, run, tree)
    library_folder = _find_library_folder(tree, find_missing_library(tried_command.problem))
    if library_folder and not run.environment:
        # The makefile expects its library to be installed before the program is started.
        run = replace(run, environment={"LD_LIBRARY_PATH": library_folder})
        tried_command = first_measurement.try_run(proposal, run, tree)
    accepted_run = accept_result_status(
        run, tried_command.problem, lambda: input_trials.prints_file(first_measurement, proposal, run, tree)
    )
    if accepted_run:
        return first_measurement.try_run(proposal, accepted_run, tree)
    server = None
    if tried_command.timed_out and not run.is_server and server_trials.may_listen(run, tree):
        server = server_trials.find_server(first_measurement, proposal, run, tree)
    elif server_trials.may_need_port(tried_command):
        server = server_trials.find_server_that_needs_port(first_measurement, proposal, run, tree)
    if server:
        return server_trials.try_server(first_measurement, proposal, server, tree)
    if not run.file and " " not in run.command:
        tried_command = _try_in_own_folder(first_measurement, proposal, tried_command, tree)
    if argument_trials.lacks_arguments(tried_command) and " " not in tried_command.run.command:
        tried_command = argument_trials.try_with_arguments(first_measurement, proposal, tried_command, tree)
    elif argument_trials.may_have_sizes(tried_command, tree):
        tried_command = argument_trials.try_larger_sizes(first_measurement, proposal, tried_command, tree)
    return argument_trials.try_other_length(first_measurement, proposal, tried_command, tree)


def _try_in_own_folder(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Try a program in its own folder if it says that it cannot open one of the project's files there.

    Return the given result if it says nothing like that, or does not work in its folder either.
    """
    run = tried_command.run
    folder, _, name = get_program(run).removeprefix("./").rpartition("/")
    takes_long = tried_command.timed_out or tried_command.seconds > SLOW_SECONDS
    if not folder or takes_long or not first_measurement.sources.has_folder(folder):
        return tried_command
    answer = first_measurement.execute_command(proposal, run, tree)
    unopened_files = [
        file for file in find_unopened_files(answer.output) if first_measurement.sources.has(f"{folder}/{file}")
    ]
    if not unopened_files:
        return tried_command
    command = build_shell_command(f"cd {folder}", f"exec ./{name}")
    result = first_measurement.try_run(proposal, replace(run, command=command, program=get_program(run)), tree)
    return result if result.faults and not result.prints_usage else tried_command


def _find_library_folder(tree: Path, library: str) -> str:
    """Return the folder of a built tree that contains a shared library; empty if none does, or none is given."""
    files = (entry.path for entry in walk_tree(tree) if entry.name == library) if library else ()
    folders = sorted(os.path.relpath(Path(file).parent, tree) for file in files)
    return next(filter(is_plain_path, folders), "")
