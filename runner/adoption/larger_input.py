"""Makes a larger input from a small one by repeating it, so that a program does more than start."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.caveats import MIN_ADDED_SHARE
from runner.adoption.command_choice import SLOW_SECONDS
from runner.adoption.proposal import RunProposal
from runner.adoption.server_proposals import get_program
from runner.adoption.tried_command import MAX_NATIVE_START_FAULTS, TriedCommand

_FEW_FAULTS = 5000
"""An execution with fewer faults, or with fewer in addition to those of its start if these are known, consists largely
of its start: a program with a language runtime takes 3,000 faults to start, and more with its packages."""
LARGE_BYTES, _MAX_LARGE_BYTES = 1 << 20, 16 << 20
"""The size of the first larger input in bytes, and of the largest one for a program that is still quick with that."""
_AIMED_SECONDS = SLOW_SECONDS / 2
"""If a program is too slow with a larger input, the next one is so large that it should take this long, in seconds."""
_MAX_SECONDS = 20.0
"""The largest duration of an execution with the larger input, in seconds, estimated as if starting took no time."""
_QUICK_SECONDS, _AIMED_QUICK_SECONDS = 0.1, 0.2
"""A program that takes less CPU time than the first with its larger input shows little of a regression. The next one
is so large that it should take the second. Both are in seconds."""
_MIN_ROUNDS = 10
"""The smallest number of repetitions of the small input for which a larger one is worth a build step."""
_JSON_SUFFIXES = (".json", ".geojson")
"""Suffixes of files with a single value, whose repetition would be invalid."""
_SEPARATOR_FILE = "faultwatch-separator"
"""The file that stands between two of such values."""
_TEXT_SUFFIXES = ("", ".txt", ".md", ".rst")
"""Suffixes of stand-ins that are text."""
_MAX_OTHER_PROGRAMS = 3
"""How many other programs are tried with a larger input that causes no more work in the first program."""
_MIN_RATIO = 2
"""The larger input has to cause at least this many times the faults or the CPU time of the small one, to be worth its
build step. A program that maps its input, such as a compressor, takes few faults for a large file in the page cache."""
_MAX_SPREAD_SHARE = 0.1
"""By at most this share of the faults that the larger input adds, an exact count of a start may begin to vary."""
_MIN_TIME_RATIO = 5
"""A program that reads its input piece by piece takes no more faults for a larger one. It is then worth its build step
if it takes at least this many times the CPU time: a regression for each piece would show."""


def propose_larger_input(
    tried_command: TriedCommand, size: int, start_faults: int = 0, max_bytes: int = LARGE_BYTES
) -> tuple[str, RunProposal] | None:
    """Return a step of the build that makes a larger file from that of a command, and the command with it.

    None if this is not useful.

    Parameters
    ----------
    size
        The size of the file in bytes.
    start_faults
        The faults with which the program's runtime starts, which are no work (see :func:`count_runtime_faults`).
    max_bytes
        The size of the larger input in bytes, at most.
    """
    run = tried_command.run
    has_small_file = bool(run.file) and not run.is_folder and size > 0
    if (
        run.is_server
        or not has_small_file
        or not tried_command.did_work
        or does_enough_work(tried_command, start_faults)
    ):
        return None
    # The load of the host prolongs a quick execution many times.
    seconds = max(tried_command.cpu_seconds or tried_command.work_seconds, 0.001)  # a divisor
    n_rounds = min(max_bytes // size, int(_MAX_SECONDS / seconds))
    larger_run = replace_file(run, name_larger_file(run.file))
    if n_rounds < _MIN_ROUNDS or larger_run is None:
        return None
    return _build_repeating_step(run.file, n_rounds, is_stand_in=bool(run.stand_in_file)), larger_run


def choose_first_size(size: int) -> int:
    """Return the size of the first larger input for a file of a size, both in bytes."""
    return max(LARGE_BYTES, min(size * _MIN_ROUNDS, _MAX_LARGE_BYTES))


def reduce_size(n_bytes: int, slow_result: TriedCommand) -> int:
    """Return the size of a larger input with which a program should be quick, in bytes; 0 if no smaller one is needed.

    How long a program takes with a small input shows poorly how long it takes with a large one.

    Parameters
    ----------
    n_bytes, slow_result
        The size of a larger input in bytes, and the result of the program with it.
    """
    is_slow = slow_result.timed_out or (bool(slow_result.faults) and slow_result.work_seconds > SLOW_SECONDS)
    return int(n_bytes * _AIMED_SECONDS / slow_result.work_seconds) if is_slow else 0


def increase_size(n_bytes: int, result: TriedCommand, start_faults: int = 0) -> int:
    """Return the size of a still larger input, in bytes; 0 if the program works enough with the one that it got.

    Parameters
    ----------
    n_bytes, result
        The size of a larger input in bytes, and the result of the program with it.
    start_faults
        The faults with which the program's runtime starts (see :func:`count_runtime_faults`).
    """
    if not 0 < result.cpu_seconds < _QUICK_SECONDS or does_enough_work(result, start_faults):
        return 0
    larger_size = min(int(n_bytes * _AIMED_QUICK_SECONDS / result.cpu_seconds), _MAX_LARGE_BYTES)
    return larger_size if larger_size >= _MIN_RATIO * n_bytes else 0


def _build_repeating_step(file: str, n_rounds: int, *, is_stand_in: bool) -> str:
    """Return a shell command that repeats a file into the larger one, with few processes.

    JSON texts become the elements of an array. The lines of a stand-in, which is any text, end with their numbers: a
    compressor or an index of words, for example, does less work for a text that repeats.
    """
    suffix = PurePosixPath(file).suffix.lower()
    if is_stand_in and suffix in _TEXT_SUFFIXES:
        repeating = f'{_repeat(file, n_rounds)} | awk "{{ print \\$0, NR }}"'
    elif suffix in _JSON_SUFFIXES:
        elements = _repeat(f"{_SEPARATOR_FILE} {file}", n_rounds - 1)
        repeating = f"echo , > {_SEPARATOR_FILE} && {{ echo [; cat {file}; {elements}; echo ]; }}"
    else:
        repeating = _repeat(file, n_rounds)
    return f"{repeating} > {name_larger_file(file)}"


def _repeat(files: str, n_rounds: int) -> str:
    """Return a shell command that prints files again and again."""
    return f"yes {files} | head -n {n_rounds} | xargs cat"


def list_runs_of_other_programs(
    runs: Iterable[RunProposal], tried_command: TriedCommand
) -> list[tuple[RunProposal, RunProposal]]:
    """Return pairs of commands, with the small and with the larger file, of a few other programs that take the file.

    Programs with work of their own, such as benchmarks, are left out.

    Parameters
    ----------
    runs
        The commands that a build suggests, the most promising first.
    """
    all_runs = list(runs)
    excluded_programs = {get_program(run) for run in all_runs if run.is_promising and not run.file}
    excluded_programs.add(get_program(tried_command.run))
    runs_by_program: dict[str, tuple[RunProposal, RunProposal]] = {}
    for run in all_runs:
        program = get_program(run)
        is_other = program not in {*excluded_programs, *runs_by_program}
        larger_run = (
            replace_file(run, name_larger_file(run.file))
            if is_other and run.input_file == tried_command.run.file
            else None
        )
        if larger_run and not run.is_fallback and not run.is_server:
            runs_by_program[program] = (run, larger_run)
    return list(runs_by_program.values())[:_MAX_OTHER_PROGRAMS]


def count_runtime_faults(start_faults: int) -> int:
    """Return the faults with which a program's language runtime starts; 0 for a native program.

    Parameters
    ----------
    start_faults
        The faults that the program takes without an input; 0 if unknown.
    """
    return start_faults if start_faults >= MAX_NATIVE_START_FAULTS else 0


def does_enough_work(tried_command: TriedCommand, start_faults: int = 0) -> bool:
    """Return whether a command takes so many faults in addition to those of its start that it needs no larger input."""
    return min(tried_command.faults) - start_faults >= _FEW_FAULTS


def name_larger_file(file: str) -> str:
    """Return the name of the larger file that is made from a file, which may be made itself."""
    suffix = PurePosixPath(file).suffix
    name = f"faultwatch-input{suffix}"
    return name if name != file else f"faultwatch-larger-input{suffix}"


def name_missing_file(file: str) -> str:
    """Return a name that no file of the project has, with the suffix of a file."""
    return f"faultwatch-missing{PurePosixPath(file).suffix}"


def replace_file(run: RunProposal, file: str) -> RunProposal | None:
    """Return a command with another file in place of its own; None unless it names its file exactly once."""
    whole_path = rf"(?<![\w./+-]){re.escape(run.file)}(?![\w./+-])"
    command, n_replaced = re.subn(whole_path, file, run.command)
    return replace(run, command=command) if run.file and n_replaced == 1 else None


def does_more_work(larger_result: TriedCommand, small_result: TriedCommand, start_faults: int = 0) -> bool:
    """Return whether the larger input causes much more work, in a short time, and does not make an exact count vary.

    If the small input causes little more than the start of a native program, the count may vary a little with the
    larger one: an exact count of a start is worth less than a count of the program's work that is nearly exact.

    Parameters
    ----------
    start_faults
        The faults with which the program's runtime starts, which are no work (see :func:`count_runtime_faults`).
    """
    if not larger_result.did_work or larger_result.work_seconds > SLOW_SECONDS:
        return False
    # Copies of a valid input need not be one: a program may define its functions twice, for example.
    if larger_result.reports_error and not small_result.reports_error:
        return False
    spread = max(larger_result.faults) - min(larger_result.faults)
    added_faults = min(larger_result.faults) - max(small_result.faults)
    may_vary = len(set(small_result.faults)) > 1 or (
        small_result.is_nearly_start and spread <= _MAX_SPREAD_SHARE * added_faults
    )
    # The count of a runtime varies, so a small part of its start counts as work of the small input.
    small_work = max(min(small_result.faults) - start_faults, MIN_ADDED_SHARE * start_faults)
    takes_more_faults = min(larger_result.faults) - start_faults >= _MIN_RATIO * small_work
    takes_more_time = larger_result.cpu_seconds >= _MIN_RATIO * small_result.cpu_seconds > 0
    maps_more = takes_more_time and min(larger_result.faults) > min(small_result.faults)
    causes_more_work = takes_more_faults or maps_more or _takes_much_longer(larger_result, small_result)
    return causes_more_work and (may_vary or not spread)


def takes_more(larger_result: TriedCommand, other_result: TriedCommand) -> bool:
    """Return whether the larger input takes more faults in hardly less CPU time, or much more CPU time, than another.

    A program that reads many copies of a small input, such as a statement, may take many pages for them, but compute
    less than with an input that does more.
    """
    computes_less = larger_result.cpu_seconds * _MIN_RATIO < other_result.cpu_seconds
    takes_more_faults = min(larger_result.faults) > min(other_result.faults) and not computes_less
    return takes_more_faults or _takes_much_longer(larger_result, other_result)


def reads_more(larger_result: TriedCommand, small_result: TriedCommand) -> bool:
    """Return whether a program works with the larger input, and takes longer for it than for the small one."""
    takes_longer = larger_result.cpu_seconds >= _MIN_RATIO * small_result.cpu_seconds > 0
    return larger_result.did_work and takes_longer and not larger_result.reports_error


def _takes_much_longer(larger_result: TriedCommand, other_result: TriedCommand) -> bool:
    return larger_result.cpu_seconds >= _MIN_TIME_RATIO * other_result.cpu_seconds > 0
