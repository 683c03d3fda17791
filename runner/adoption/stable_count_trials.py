"""Tries a command with variables or an option with which its count repeats, or at least varies less."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from runner.adoption.command_choice import MAX_SECONDS, is_redirected
from runner.adoption.first_measurement import RUNS_PER_TRIAL, FirstMeasurement
from runner.adoption.help_options import list_single_thread_options
from runner.adoption.larger_folder import starts_in_folder
from runner.adoption.larger_input import name_larger_file
from runner.adoption.proposal import ANY_SHELL_START, PYTHON_STARTS, BuildProposal, RunProposal
from runner.adoption.server_proposals import get_program
from runner.adoption.stabilizing_variables import VARIABLES_BY_TOOL, list_stabilizing_variables
from runner.adoption.tried_command import TriedCommand

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
_MEANINGLESS_VARIABLE = {"OMP_NUM_THREADX": "1"}
"""A variable that no program reads. It enlarges the environment like ``OMP_NUM_THREADS=1``, without its effect."""


def find_stable_environment(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Return a command with environment variables that make its count repeat, or at least vary much less.

    The threads of a Python program's libraries make its count vary, but a few executions may not show this. If a
    single thread gives it another exact count, the program is therefore limited to one, even if its count repeats.
    """
    if tried_command.run.is_server:
        return tried_command
    varies = len(set(tried_command.faults)) > 1
    if not varies and not tried_command.run.command.startswith(PYTHON_STARTS):
        return tried_command
    narrowest_result = tried_command
    repeated_command: TriedCommand | None = None
    for variables in list_variables(first_measurement, proposal, tried_command.run):
        result_with_variables = _try_with_variables(first_measurement, variables, proposal, tried_command, tree)
        if not result_with_variables.faults:
            continue  # the program fails with them
        # An exact count that did not occur without the variables is their effect.
        if len(set(result_with_variables.faults)) == 1 and result_with_variables.faults[0] not in tried_command.faults:
            # Any variable lengthens the beginning of the stack, and this alone can move a count.
            result_with_meaningless_variable = _try_with_variables(
                first_measurement, _MEANINGLESS_VARIABLE, proposal, tried_command, tree
            )
            is_unaffected = result_with_meaningless_variable.faults == result_with_variables.faults
            return tried_command if is_unaffected else result_with_variables
        if not varies:
            continue
        # The range of a few executions depends on chance, so more of them decide.
        if repeated_command is None:
            repeated_command = _repeat_quick_trial(first_measurement, proposal, tried_command, tree)
        compared_result = repeated_command if narrowest_result is tried_command else narrowest_result
        repeated_result = _repeat_quick_trial(first_measurement, proposal, result_with_variables, tree)
        if _is_clearly_narrower(repeated_result.faults, compared_result.faults):
            narrowest_result = repeated_result
    return narrowest_result


def _repeat_quick_trial(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand:
    """Return the result of a command with the counts of further trials; a slow one is not repeated."""
    if tried_command.work_seconds > MAX_SECONDS:
        return tried_command
    repeated_results = [first_measurement.try_run(proposal, tried_command.run, tree) for _ in range(_REPEATED_TRIALS)]
    further_faults = [count for result in repeated_results for count in result.faults]
    return replace(tried_command, faults=(*tried_command.faults, *further_faults))


def find_single_thread_command(
    first_measurement: FirstMeasurement, proposal: BuildProposal, tried_command: TriedCommand, tree: Path
) -> TriedCommand | None:
    """Return a command with the program's own option for a single thread, if its count repeats with it.

    None if the program's help names no such option, or if the count still varies.
    """
    start, rest = _split_at_file(tried_command.run)
    program_start = start.removeprefix(_SHELL_START).removeprefix(ANY_SHELL_START)
    if tried_command.run.is_server or program_start.startswith((*PYTHON_STARTS, "java ")):
        return None
    # A program prints its usage for --help, or if it gets no file.
    program = get_program(tried_command.run) if _enters_folder(tried_command.run) else program_start
    for command in dict.fromkeys((f"{program} --help", program)):
        asking = replace(tried_command.run, command=command)
        answer = first_measurement.execute_command(proposal, asking, tree)
        options = list_single_thread_options(answer.output)
        for option in options:
            run_with_option = replace(tried_command.run, command=f"{start} {option}{rest}")
            result = first_measurement.try_run(proposal, run_with_option, tree)
            if len(set(result.faults)) == 1:
                return result
        if options:
            break
    return None


def list_variables(
    first_measurement: FirstMeasurement, proposal: BuildProposal, run: RunProposal
) -> tuple[Mapping[str, str], ...]:
    """Return sets of variables that may make a count repeat, for the tools of the build and of shell scripts."""
    shell_scripts = [first_measurement.sources.read_text(word) for word in run.command.split() if word.endswith(".sh")]
    started_tools = {
        tool
        for tool in VARIABLES_BY_TOOL
        if any(re.search(rf"(?<![\w.-]){tool}\s", script) for script in shell_scripts)
    }
    return list_stabilizing_variables({*started_tools, *proposal.tools})


def _try_with_variables(
    first_measurement: FirstMeasurement,
    variables: Mapping[str, str],
    proposal: BuildProposal,
    tried_command: TriedCommand,
    tree: Path,
) -> TriedCommand:
    """Repeat the trial of a command with additional environment variables."""
    return first_measurement.try_run(
        proposal, replace(tried_command.run, environment={**tried_command.run.environment, **variables}), tree
    )


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
    is_repeated = min(len(counts), len(wider_counts)) > RUNS_PER_TRIAL
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
