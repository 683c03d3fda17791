"""Finds out by trial what a program reads: a file, its standard input, its folder, or an input that has to be made."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from runner.adoption.command_choice import MAX_PROGRAMS, SLOW_SECONDS, is_redirected, may_ignore_file
from runner.adoption.exit_status import contains_most_words
from runner.adoption.first_measurement import (
    MAX_QUICK_SECONDS,
    MAX_SEARCH_SECONDS,
    QUICK_TIMEOUT_SECONDS,
    FirstMeasurement,
)
from runner.adoption.input_files import list_similar_inputs
from runner.adoption.larger_folder import choose_folder, may_work_on_folder, run_in_empty_folder, run_in_folder
from runner.adoption.larger_input import name_missing_file, replace_file
from runner.adoption.made_inputs import add_making_step, find_missing_format, list_made_input_runs
from runner.adoption.printed_text import is_usage, prints_error_line, reports_error
from runner.adoption.proposal import ANY_SHELL_START, BuildProposal, RunProposal, build_shell_command
from runner.adoption.server_proposals import get_program
from runner.adoption.tree_files import get_size, read_text
from runner.adoption.tried_command import TriedCommand
from runner.execution.execute import ProgramResult

STANDARD_INPUT_ARGUMENT = "-"
"""The usual argument by which a program that takes text as its argument reads its standard input instead."""
_READS_ARGUMENTS = re.compile(r"\bv?argv\b|\bargs?\s*\[\s*\d|\bargs\b\s*\(|\bARGV\b|\bscriptArgs\b")
"""What a script contains that reads its arguments, in several languages."""
_MAX_NUMBERED_FILES = 4
"""How many such scripts are tried with numbers."""
_FIRST_NUMBER, _MAX_EXPONENT, _MAX_NUMBER = 4, 64, 1_000_000
"""The first number, the one up to which it may be an exponent, and the one from which none is tried."""
_FEW_CPU_SECONDS, _MAX_NUMBER_SECONDS = 0.1, 1.0
"""A script that takes less CPU time than the first does little work. With a number, it takes at most the second. Both
are in seconds."""
_MIN_NUMBER_RATIO = 3
"""A script takes at least this many times as long with the chosen number as with the first, if it reads the number."""
_SAME_OUTPUT = "the output is the same as without the file"
"""What is known of a program that prints the same with a file as its standard input."""


def put_heaviest_tests_first(
    first_measurement: FirstMeasurement, proposal: BuildProposal, runs: Sequence[RunProposal], tree: Path
) -> list[RunProposal]:
    """Return commands with the test programs that take the most faults before the others, if there are many.

    Only the first few of a project's many tests are tried, and a later one may do more. Each is executed only once,
    as far as time allows.
    """
    tests = {get_program(run): run for run in reversed(runs) if run.is_test and not (run.file or run.reads_text)}
    if len(tests) <= MAX_PROGRAMS:
        return list(runs)
    ends_at = time.monotonic() + MAX_SEARCH_SECONDS
    faults_by_program = {
        program: (first_measurement.count_faults_roughly(proposal, run, tree) or 0) if time.monotonic() < ends_at else 0
        for program, run in reversed(tests.items())
    }
    first_test = next(index for index, run in enumerate(runs) if get_program(run) in tests)
    # The sort is stable, so the commands of a program, and tests that are alike, keep their order.
    test_runs = sorted(
        (run for run in runs if get_program(run) in tests), key=lambda run: -faults_by_program[get_program(run)]
    )
    other_runs = [run for run in runs if get_program(run) not in tests]
    return [*other_runs[:first_test], *test_runs, *other_runs[first_test:]]


def takes_file_for_text(
    first_measurement: FirstMeasurement,
    proposal: BuildProposal,
    tried_command: TriedCommand,
    earlier_results: Sequence[TriedCommand],
    tree: Path,
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
    result_without_file = first_measurement.try_run(proposal, missing_run, tree)
    return bool(result_without_file.faults) and result_without_file.own_bytes == tried_command.own_bytes


def ignore_varying_file_names(
    first_measurement: FirstMeasurement,
    proposal: BuildProposal,
    tried_command: TriedCommand,
    earlier_results: Sequence[TriedCommand],
    tree: Path,
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
    repeated_bare_result = first_measurement.try_run(proposal, bare_result.run, tree)
    return (
        tried_command
        if repeated_bare_result.own_bytes == bare_result.own_bytes
        else replace(tried_command, own_bytes=bare_result.own_bytes)
    )


def find_heaviest_input(
    first_measurement: FirstMeasurement, proposal: BuildProposal, results: Sequence[TriedCommand], tree: Path
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
    if min((result.work_seconds for result in results_with_input), default=SLOW_SECONDS) > MAX_QUICK_SECONDS:
        return None
    heaviest_result = max(results_with_input, key=lambda result: min(result.faults))
    tried_file = heaviest_result.run.file
    similar_files = list_similar_inputs(first_measurement.sources, tried_file, lambda file: get_size(tree / file))
    untried_files = [file for file in similar_files if file not in {result.run.input_file for result in results}]
    faults_by_file = _count_faults_by_file(
        first_measurement, proposal, heaviest_result.run, [tried_file, *untried_files], tree
    )
    heaviest_file = max(faults_by_file, key=lambda file: faults_by_file[file], default=tried_file)
    added_faults = faults_by_file.get(heaviest_file, 0) - faults_by_file.get(tried_file, 0)
    heaviest_run = replace_file(heaviest_result.run, heaviest_file)
    if heaviest_run is None or tried_file not in faults_by_file or added_faults < min(heaviest_result.faults):
        return None
    return replace(heaviest_run, input_file=heaviest_file, is_heaviest=True)


def list_runs_with_number(
    first_measurement: FirstMeasurement, proposal: BuildProposal, results: Sequence[TriedCommand], tree: Path
) -> list[RunProposal]:
    """Return commands that give scripts the number by which they choose how much they compute.

    Many benchmarks in a language are such scripts, and do hardly anything without the number. Empty if a script does
    enough work without it, or if none that reads its arguments does more work with a larger number.
    """
    results_with_input = [result for result in results if result.did_work and result.run.input_file]
    runs = [result.run for result in results_with_input if result.run.command.endswith(f" {result.run.file}")]
    if not runs or max(result.work_seconds for result in results_with_input) > _FEW_CPU_SECONDS:
        return []
    similar_files = list_similar_inputs(first_measurement.sources, runs[0].file, lambda file: get_size(tree / file))
    files = [
        file
        for file in (runs[0].file, *similar_files)
        if _READS_ARGUMENTS.search(first_measurement.sources.read_text(file))
    ]
    scripts = [replace_file(replace(runs[0], passes_number=True), file) for file in files[:_MAX_NUMBERED_FILES]]
    further_runs = [
        _choose_number(first_measurement, proposal, replace(run, input_file=file), tree)
        for file, run in zip(files, scripts, strict=False)
        if run
    ]
    return [run for run in further_runs if run]


def _choose_number(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> RunProposal | None:
    """Return the command of a script with a number with which it computes for a good while; None if there is none.

    The number is increased by little at first, because the work may grow exponentially with it.
    """
    first_seconds = last_seconds = 0.0
    chosen_run = None
    number = _FIRST_NUMBER
    while number < _MAX_NUMBER and last_seconds < _FEW_CPU_SECONDS:
        run_with_number = replace(run, command=f"{run.command} {number}")
        result, _, cpu_seconds = first_measurement.execute_once(proposal, run_with_number, tree, QUICK_TIMEOUT_SECONDS)
        if result.status != 0 or cpu_seconds > _MAX_NUMBER_SECONDS or prints_error_line(result.output):
            break
        chosen_run, last_seconds = run_with_number, cpu_seconds
        first_seconds = first_seconds or cpu_seconds
        number = number * 3 // 2 if number < _MAX_EXPONENT else number * 3
    return chosen_run if last_seconds >= _MIN_NUMBER_RATIO * first_seconds else None


def _count_faults_by_file(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, files: Sequence[str], tree: Path
) -> dict[str, int]:
    """Return the faults of a command with each of several files instead of its own, as far as time allows.

    It is executed only once with each file, which takes milliseconds; a trial takes a good part of a second. Files
    that the program refuses, or does not finish in time, are left out.
    """
    ends_at = time.monotonic() + MAX_SEARCH_SECONDS
    faults_by_file: dict[str, int] = {}
    for file in files:
        run_with_file = replace_file(run, file)
        if run_with_file is None or time.monotonic() >= ends_at:
            continue
        faults = first_measurement.count_faults_roughly(proposal, run_with_file, tree)
        if faults is not None:
            faults_by_file[file] = faults
    return faults_by_file


def find_folder_to_copy(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> tuple[str, int] | None:
    """Return a folder of the project, and how many copies of it give the program of a command more work.

    None unless the program works on the folder in which it starts: it prints more there than in an empty folder.
    """
    chosen_folder = choose_folder(first_measurement.sources, lambda file: get_size(tree / file))
    if chosen_folder is None or not may_work_on_folder(tried_command):
        return None
    folder, _ = chosen_folder
    result_with_files, result_without_files = (
        first_measurement.execute_command(proposal, run, tree)
        for run in (run_in_folder(tried_command.run, folder), run_in_empty_folder(tried_command.run))
    )
    prints_more = len(result_with_files.output.splitlines()) > len(result_without_files.output.splitlines())
    return chosen_folder if prints_more and result_with_files.status == 0 else None


def propose_made_input(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_commands: Iterable[TriedCommand], tree: Path
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
        if not (run.is_fallback or run.command.startswith(ANY_SHELL_START))
    )
    for start_command in start_commands:
        for command in (start_command, f"{start_command} --help"):
            usage = first_measurement.execute_command(proposal, RunProposal(command), tree).output
            input_format = find_missing_format(first_measurement.sources, usage) if is_usage(usage) else None
            if input_format:
                runs = list_made_input_runs(start_command, usage, input_format)
                if runs:
                    return add_making_step(proposal, input_format), runs
    return None


def describe_unread_input(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path
) -> str:
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
        return first_measurement.execute_command(proposal, variant, tree)

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
    content = read_text(tree / run.file)
    names_error_itself = any(map(reports_error, (result_with_nothing.output, content)))
    refuses_file = reports_error(result_with_file.output) and not names_error_itself
    return "it prints an error" if refuses_file else ""


def prints_file(first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal, tree: Path) -> bool:
    """Return whether a program prints most of the words of its file."""
    output = first_measurement.execute_command(proposal, run, tree).output
    return contains_most_words(output, read_text(tree / run.file))


def list_variants(run: RunProposal, earlier_results: Sequence[TriedCommand]) -> list[RunProposal]:
    """Return a command and, for the first file of a kind, the command that passes the file as standard input.

    The next input is passed so too if the output was the same as without the one before: a program that counts
    something may find none of it in one file. For a program that has done work with a file as standard input, only
    that way is returned.
    """
    if not run.file or run.is_folder or run.command.startswith(ANY_SHELL_START):
        return [run]
    results_with_files = [result for result in earlier_results if result.run.file]
    redirected = next(
        (result.run for result in results_with_files if result.did_work and is_redirected(result.run)), None
    )
    if redirected:
        argument = STANDARD_INPUT_ARGUMENT if f" {STANDARD_INPUT_ARGUMENT} < " in redirected.command else ""
        return [] if run.is_fallback else [redirect_file_to_input(run, argument)]
    is_kind_tried = any(bool(result.run.stand_in_file) is bool(run.stand_in_file) for result in results_with_files)
    may_read_another = bool(run.input_file) and any(
        result.problem == _SAME_OUTPUT and result.run.input_file and result.seconds < SLOW_SECONDS
        for result in results_with_files
    )
    return [run] if is_kind_tried and not may_read_another else [run, redirect_file_to_input(run)]


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
