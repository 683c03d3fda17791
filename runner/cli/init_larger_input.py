"""Makes a larger input, or a folder of files, for a program that hardly works with what the project contains."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli.activity import show_activity
from runner.cli.formatting import format_count_range
from runner.cli.terminal import print_message
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.adoption.first_measurement import FirstMeasurement
    from runner.adoption.proposal import BuildProposal, RunProposal
    from runner.adoption.tried_command import TriedCommand

_MAX_REBUILD_SECONDS = 300
"""A build that takes longer is not repeated for a larger input."""


def find_larger_input(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    chosen_command: "TriedCommand",
    tried_commands: "list[TriedCommand]",
    start_faults: int,
) -> tuple["BuildProposal", Path, "TriedCommand", int] | None:
    """Return a build that makes a larger input or folder, its tree, the command with it, and the faults of its start.

    None if no larger input causes more work.

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
    return _try_larger_folder(first_measurement, proposal, tree, bare_command or chosen_command)


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

    has_enough_work = chosen_command.run.passes_number or does_enough_work(chosen_command, runtime_faults)
    if chosen_command.run.input_file and has_enough_work:
        return None
    try:
        found_build = _find_quick_larger_input(first_measurement, proposal, tree, small_result, runtime_faults)
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
        f"  {tried_command.run.command}: {format_count_range(tried_command.faults)} minor faults; "
        f"the build makes its input file from copies of {small_result.run.file}"
    )
    return build, larger_tree, tried_command


def _find_quick_larger_input(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    small_result: "TriedCommand",
    runtime_faults: int,
) -> tuple["BuildProposal", "TriedCommand"] | None:
    """Return a build that makes a larger input with which a program is quick, and the command with it; None if none.

    If the program is slow with the input, it gets a smaller one; if it hardly computes with it, it gets a still larger
    one. The project itself is not built again.
    """
    from runner.adoption.larger_input import (
        choose_first_size,
        does_more_work,
        increase_size,
        reads_more,
        reduce_size,
    )

    size = first_measurement.get_input_size(small_result.run, tree)
    max_bytes = choose_first_size(size)
    best: tuple[BuildProposal, TriedCommand] | None = None
    was_slow = False
    while max_bytes:
        found = _try_size(first_measurement, proposal, tree, small_result, runtime_faults, max_bytes)
        if found is None:
            return best
        build, larger_result, found_command = found
        smaller_size = reduce_size(max_bytes, larger_result)
        if smaller_size and not best:
            max_bytes, was_slow = smaller_size, True
            continue
        if not (best or found_command or was_slow) and reads_more(larger_result, small_result):
            # The start hides how much longer the program takes, unless the input is still larger.
            max_bytes = increase_size(max_bytes, larger_result, runtime_faults)
            continue
        does_more = found_command and (not best or does_more_work(found_command, best[1], runtime_faults))
        if smaller_size or not found_command or not does_more:
            return best
        best = build, found_command
        # Another program that works with the input is measured as it is.
        is_same_program = found_command is larger_result
        max_bytes = increase_size(max_bytes, found_command, runtime_faults) if is_same_program else 0
    return best


def _try_size(
    first_measurement: "FirstMeasurement",
    proposal: "BuildProposal",
    tree: Path,
    small_result: "TriedCommand",
    runtime_faults: int,
    max_bytes: int,
) -> tuple["BuildProposal", "TriedCommand", "TriedCommand | None"] | None:
    """Return a build that makes an input of a size, the program's result with it, and a command that does more work.

    None if no such input is proposed, or if the build takes too long. The last element is None if the program is slow,
    or if no program does more work.
    """
    from runner.adoption.command_trials import try_runs
    from runner.adoption.larger_input import propose_larger_input, reduce_size
    from runner.adoption.proposal import add_build_step

    size = first_measurement.get_input_size(small_result.run, tree)
    larger_proposal = propose_larger_input(small_result, size, runtime_faults, max_bytes)
    if larger_proposal is None or _takes_long_to_build(first_measurement, proposal):
        return None
    step, run = larger_proposal
    build = add_build_step(proposal, step)
    with (
        show_activity("making a larger input") as show_progress,
        first_measurement.extend_build(proposal, step, tree) as extended_tree,
    ):
        # Take only the first result. If the command fails, the second trial passes the file as standard input, which
        # cannot be compared with the trial of the small file.
        result = next(iter(try_runs(first_measurement, build, [run], extended_tree, show_progress)))
        if reduce_size(max_bytes, result):
            return build, result, None
        found_command = _find_command_with_more_work(
            first_measurement, build, result, small_result, extended_tree, show_progress, runtime_faults
        )
        return build, result, found_command


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
        f"  {tried_command.run.command}: {format_count_range(tried_command.faults)} minor faults; "
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
