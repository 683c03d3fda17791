"""Decides from the earlier results of a program which of its further commands are superfluous, and need no trial."""

from collections.abc import Sequence

from runner.adoption.command_choice import MAX_SECONDS, SLOW_SECONDS, is_given_work, is_redirected, may_ignore_file
from runner.adoption.printed_text import find_missing_code
from runner.adoption.proposal import RunProposal
from runner.adoption.tried_command import TriedCommand

_MAX_FAILURE_SECONDS = 30.0
"""After two failures with a file that took longer than this in total, in seconds, a program gets no other."""
_MAX_TIMEOUTS = 3
"""After this many commands of a program that did not end in time, and none that did, no other is tried."""
_MAX_INPUTS = 4
"""How many inputs of the project a program is tried with, to propose the best of them."""
_MAX_TINY_INPUTS = 8
"""The same for inputs with which the program hardly does more than start."""
_MAX_IGNORED_FILES = 2
"""After so many files that a test has ignored, it gets no other."""
_MAX_SLOW_INPUTS = 2
"""How many of them may be slow: one slow input says nothing about the others."""
_MAX_SLOW_SECONDS = 20.0
"""As long as the slow ones take less than this in total, in seconds, and none was quick, more of them may be slow."""


def is_needless_command(run: RunProposal, earlier_results: Sequence[TriedCommand]) -> bool:
    """Return whether the earlier results of a program make a command of the same program superfluous."""
    # A known server is tried only with its load.
    if any(result.run.is_server for result in earlier_results):
        return True
    ignores_files = bool(run.file) and _ignores_files(earlier_results)
    if fails_slowly(run, earlier_results) or lacks_code(earlier_results) or ignores_files:
        return True
    # One command without a file that works is enough, unless it may only start and a document shows the sizes of work.
    arguments = run.command.split()[1:]
    is_bare = not run.file and not run.reads_text and (not arguments or arguments[0].startswith("-"))
    bare_results = [result for result in earlier_results if result.faults] if is_bare else []
    if any(run.may_do_nothing or not result.may_only_start for result in bare_results):
        return True
    # A program with work of its own needs no file.
    if run.file and any(_has_own_work(result, run) for result in earlier_results):
        return True
    # A file that has changed lately is tried only with a program that hardly works with other files, and a fallback
    # only with one that has refused every file.
    results_with_files = [result for result in earlier_results if result.did_work and result.run.file]
    has_steady_input = any(not (result.is_nearly_start or result.run.file_may_change) for result in results_with_files)
    # A program that does hardly any work with an expression and one file may do more with another file.
    does_enough = any(not (result.run.is_fallback and result.is_nearly_start) for result in results_with_files)
    if (run.file_may_change and has_steady_input) or (run.is_fallback and does_enough):
        return True
    # A command that may do nothing shows no more than one that gives the program work.
    return run.may_do_nothing and any(is_given_work(result) for result in earlier_results)


def _has_own_work(bare_result: TriedCommand, run: RunProposal) -> bool:
    """Return whether a program works without the file of a command, so that the command is superfluous.

    A benchmark or a test has work of its own, unless it takes no more than a start. A program that computes for long
    without a file needs no stand-in, but perhaps an input.
    """
    if bare_result.run.file or not bare_result.did_work or bare_result.takes_only_start:
        return False
    is_made_to_work = bare_result.run.is_promising or bare_result.run.is_test
    return is_made_to_work or (bool(run.stand_in_file) and not bare_result.has_no_work)


def _ignores_files(earlier_results: Sequence[TriedCommand]) -> bool:
    """Return whether a test works without a file, and has ignored a few files, also as its standard input."""
    is_test = any(result.run.is_test and result.faults for result in earlier_results)
    results_with_files = [result for result in earlier_results if result.run.file]
    results_with_arguments = [result for result in results_with_files if not is_redirected(result.run)]
    reads_any = any(result.faults and not ignores_file(result, earlier_results) for result in results_with_files)
    ignores_all = all(result.faults for result in results_with_arguments) and not reads_any
    return is_test and ignores_all and len(results_with_arguments) >= _MAX_IGNORED_FILES


def fails_slowly(run: RunProposal, earlier_results: Sequence[TriedCommand]) -> bool:
    """Return whether a program has failed for so long that it will probably fail with another command, too.

    What it does without a file does not show what it does with one.
    """
    results = [result for result in earlier_results if result.run.file or not run.file]
    if any(result.faults for result in results):
        return False
    # A program that never ends in time ignores its arguments. A test that does not end in time has found its data, so
    # it is not tried in other folders.
    max_timeouts = 1 if run.is_test and not run.file else _MAX_TIMEOUTS - run.only_describes_itself
    if sum(result.timed_out for result in results) >= max_timeouts:
        return True
    # With another input of the project, the program may have less to do.
    seconds = sum(result.seconds for result in results if not (result.timed_out and result.run.input_file))
    return bool(run.file) and len(results) > 1 and seconds > _MAX_FAILURE_SECONDS


def lacks_code(earlier_results: Sequence[TriedCommand]) -> bool:
    """Return whether a program has failed with different commands because the same module or library is missing."""
    missing_names = {find_missing_code(result.problem) for result in earlier_results}
    return len(earlier_results) > 1 and len(missing_names) == 1 and "" not in missing_names


def ignores_file(tried_command: TriedCommand, earlier_results: Sequence[TriedCommand]) -> bool:
    """Return whether a command that got a file seems to ignore it, or only printed its usage."""
    if not tried_command.run.file or is_redirected(tried_command.run):
        return False
    bare_results = [result for result in earlier_results if result.did_work and not result.run.file]
    return tried_command.prints_usage or any(may_ignore_file(tried_command, bare) for bare in bare_results)


def has_enough_inputs(run: RunProposal, earlier_results: Sequence[TriedCommand]) -> bool:
    """Return whether a program was tried with enough inputs, so that another file is superfluous.

    Inputs that it ignored do not count.
    """
    results_with_input = [
        result
        for result in earlier_results
        if result.run.input_file and result.faults and not ignores_file(result, earlier_results)
    ]
    if run.stand_in_file and any(result.did_work for result in results_with_input):
        return True
    seconds = [result.work_seconds for result in results_with_input]
    quick_seconds = [duration for duration in seconds if duration <= SLOW_SECONDS]
    n_slow, slow_seconds = len(seconds) - len(quick_seconds), sum(seconds) - sum(quick_seconds)
    is_slow = n_slow >= _MAX_SLOW_INPUTS and (bool(quick_seconds) or slow_seconds >= _MAX_SLOW_SECONDS)
    is_tiny = all(result.is_nearly_start for result in results_with_input)
    max_inputs = _MAX_TINY_INPUTS if is_tiny else _MAX_INPUTS
    is_enough = len(seconds) >= max_inputs or sum(quick_seconds) > MAX_SECONDS or is_slow
    return bool(run.input_file) and is_enough and not (run.is_folder or run.is_heaviest or run.passes_number)
