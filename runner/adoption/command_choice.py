"""Decides which of the tried commands is measured, and whether to try more."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from runner.adoption.caveats import adds_little
from runner.adoption.proposal import IMPORT_OPTION, RunProposal
from runner.adoption.tried_command import TriedCommand

MAX_PROGRAMS = 12
"""The largest number of programs that are tried."""
_EXAMPLE = re.compile(r"example|demo|sample", re.IGNORECASE)
_MAX_EXAMPLES = 5
"""How many examples are tried, to choose the one with the most faults, which does the most work."""
_MAX_WEAK_PROGRAMS = 3
"""How many programs without an input are tried, to propose the best of them."""
_FIRST_WEAK_RANK, _LAST_RANK_WITH_WORK = 2, 3
"""The best rank of a command for which the project provides no or hardly any work, and the last one of a command that
does more than start (see :func:`_rank`)."""
_MIN_RANGE_RATIO = 10
"""A count varies much more than another if its range is more than this many times wider."""
_ERRATIC_RATIO = 1.5
"""A count whose largest value is more than this many times its smallest is of little use."""
_MAX_STEADY_SHARE = 0.002
"""A count is steady if its range is at most this share of it: a tenth of a rise of 2 %, which is then soon proven."""
_MIN_START_RANGE_RATIO = 3
"""A program has also read its input if its count is higher with it, and without it varies over a range more than this
many times as wide."""
_MIN_FOLDER_RATIO = 2
"""A program works on folders if it takes at least this many times more faults for a folder than for any file."""
_MAX_SIMILAR_DIFFERENCE = 0.1
"""Commands whose faults differ by at most this share of the larger number do similar work."""
_MAX_LARGER_INPUTS = 3
"""How many inputs of a program are made larger, each in a separate build, until one makes the program work more."""
SLOW_SECONDS = 2.0
"""An execution that takes longer than this, in seconds, is too slow to be repeated dozens of times."""
MAX_SECONDS = 4.0
"""Once one execution of each working command takes longer than this in total, in seconds, no others are tried. Programs
with slow commands do not count, up to :data:`_MAX_SLOW_PROGRAMS`: one slow test says nothing about the others."""
_MAX_SLOW_PROGRAMS = 2


def choose_best_command(tried_commands: Sequence[TriedCommand]) -> TriedCommand | None:
    """Return the command to propose: the best command of the best program; None if no command works.

    Programs that were given work come first, then tests and programs with a stand-in, then programs that may only
    start. Among equals, a command that touches memory comes first, even a slow one, then a count that repeats or nearly
    does, then a command that executes more of the project's code, then the benchmark with the most faults: an
    interpreter maps nothing of the project.
    """
    programs: dict[str, list[TriedCommand]] = {}
    for candidate in tried_commands:
        if candidate.faults:
            programs.setdefault(_get_program_or_script(candidate.run), []).append(candidate)
    if not programs:
        return None
    best_of_programs = [_choose_best_of_program(results) for results in programs.values()]
    best_command = min(
        best_of_programs,
        key=lambda candidate: (
            _rank(candidate),
            candidate.touches_little_memory,
            *_rank_steadiness(candidate),
            candidate.run.is_test and candidate.is_nearly_start,
            -candidate.own_faults,
            -min(candidate.faults) if _rank(candidate) == 0 else 0,
        ),
    )
    is_of_same_kind = _choose_kind_test(best_command)  # a function
    if is_of_same_kind:
        # Examples and tests are numerous and alike: the one with the most faults does the most work.
        alike_commands = [
            candidate
            for candidate in best_of_programs
            if is_of_same_kind(candidate) and candidate.did_work is best_command.did_work
        ]
        return min(
            alike_commands,
            key=lambda other: (
                _rank(other),
                other.touches_little_memory,
                *_rank_steadiness(other),
                -min(other.faults),
            ),
        )
    return best_command


def _choose_best_of_program(results: Sequence[TriedCommand]) -> TriedCommand:
    """Return the best of a program's commands that work: one with an input that it reads, else one that does some work.

    A program has read a file if the tracer saw it open the file, and if the file moves its fault count by more than the
    noise; both are required because a few executions show the noise poorly. Commands that only print a version or the
    usage come last.
    """
    # A slow command can hardly be repeated.
    working_commands = sorted(
        results,
        key=lambda candidate: (
            not candidate.did_work,
            not candidate.run.reads_text,
            candidate.work_seconds > SLOW_SECONDS,
        ),
    )
    # The command without a file, with which the others are compared.
    first_command = next((candidate for candidate in working_commands if not candidate.run.file), working_commands[0])
    # Prefer an input that the program reads, then another file, then the command without a file.
    command_with_file = _choose_best_input(working_commands, first_command) or _find_useful_file(
        working_commands, first_command
    )
    if command_with_file:
        return command_with_file
    # Another command is chosen instead of the first one only if the first one does no work, but another one does.
    return first_command if first_command.did_work or not working_commands[0].did_work else working_commands[0]


def _choose_best_input(working_commands: Sequence[TriedCommand], first_command: TriedCommand) -> TriedCommand | None:
    """Return the best command with an input that the program reads; None if there is none.

    Parameters
    ----------
    first_command
        The command without a file. If it does no work, the program is assumed to read each input. If even this command
        has an input, the program has subcommands, which may read the same input.
    """
    reading_commands = [
        candidate
        for candidate in working_commands
        if candidate.run.input_file
        and candidate.did_work
        and (
            first_command.run.input_file
            or not first_command.did_work
            or _reads_more(candidate, first_command)
            or (_opens_other_files(candidate, first_command) and _lies_steadily_above(candidate, first_command))
        )
    ]
    # The inputs of a program execute much the same code: the one with the most faults causes the most work.
    start_faults = min(first_command.faults) if first_command.did_work and not first_command.run.input_file else 0
    return min(
        reading_commands,
        key=lambda candidate: (
            candidate.reports_error,
            adds_little(candidate, start_faults),
            not works_on_folder(candidate, reading_commands),
            *_rank_steadiness(candidate),
            -min(candidate.faults),
        ),
        default=None,
    )


def _find_useful_file(working_commands: Sequence[TriedCommand], first_command: TriedCommand) -> TriedCommand | None:
    """Return a command with a file, but no input, that the program reads, or with which its count is steadier."""
    computes_without_file = first_command.run.may_do_nothing and not first_command.may_only_start
    for other in working_commands:
        if not other.did_work or other is first_command or other.run.input_file:
            continue
        # A program that computes for long without a file, and hardly takes more faults with one, needs none.
        if computes_without_file and adds_little(other, min(first_command.faults)):
            continue
        # A file that the program does not open makes its count no steadier, except by chance.
        if _reads_more(other, first_command) or (
            _opens_other_files(other, first_command) and _is_steadier(other, first_command)
        ):
            return other
    return None


def works_on_folder(command_with_folder: TriedCommand, other_commands: Sequence[TriedCommand]) -> bool:
    """Return whether a command without a file, or with a folder, takes many more faults than each one with a file."""
    if not command_with_folder.did_work or (command_with_folder.run.file and not command_with_folder.run.is_folder):
        return False
    commands_with_files = [
        other for other in other_commands if other.did_work and other.run.file and not other.run.is_folder
    ]
    most_faults = max((min(other.faults) for other in commands_with_files), default=0)
    return bool(commands_with_files) and min(command_with_folder.faults) >= _MIN_FOLDER_RATIO * most_faults


def _reads_more(result_with_input: TriedCommand, result_without_input: TriedCommand) -> bool:
    """Return whether a program has read its file, compared with an execution that worked without it."""
    return _opens_other_files(result_with_input, result_without_input) and _have_distinct_counts(
        result_without_input.faults, result_with_input.faults
    )


def _is_steadier(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether the first command's count varies much less than the second's, or not at all while that varies."""
    first_range = max(first_command.faults) - min(first_command.faults)
    second_range = max(second_command.faults) - min(second_command.faults)
    return first_range * _MIN_RANGE_RATIO < second_range


def _lies_steadily_above(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether all counts of the first command exceed those of the second, and vary much less."""
    first_range = max(first_command.faults) - min(first_command.faults)
    second_range = max(second_command.faults) - min(second_command.faults)
    is_above = min(first_command.faults) > max(second_command.faults)
    return is_above and first_range * _MIN_START_RANGE_RATIO < second_range


def mark_imports(tried_commands: Sequence[TriedCommand]) -> list[TriedCommand]:
    """Return the tried commands, with a mark on test scripts that do hardly more than import the project."""
    imports = [result for result in tried_commands if IMPORT_OPTION in result.run.command and result.faults]
    import_faults = min((min(result.faults) for result in imports), default=0)
    return [
        replace(result, only_imports=bool(result.faults) and result.run.is_test and adds_little(result, import_faults))
        for result in tried_commands
    ]


def count_start_faults(chosen_command: TriedCommand, tried_commands: Sequence[TriedCommand]) -> int:
    """Return the faults that the program of a command takes without an input; 0 if it never worked without one."""
    program = _get_program_or_script(chosen_command.run)
    start_commands = (
        other
        for other in tried_commands
        if other.faults
        and (other.run.may_do_nothing or other.prints_usage or other.run.only_describes_itself)
        and not other.run.is_test
    )
    return min(
        (min(start.faults) for start in start_commands if _get_program_or_script(start.run) == program), default=0
    )


def list_descriptions(chosen_command: TriedCommand, runs: Iterable[RunProposal]) -> list[RunProposal]:
    """Return the commands that make the program of the chosen command only print its version or usage."""
    program = _get_program_or_script(chosen_command.run)
    return [run for run in runs if run.only_describes_itself and _get_program_or_script(run) == program]


def list_commands_with_files(
    chosen_command: TriedCommand, tried_commands: Sequence[TriedCommand]
) -> list[TriedCommand]:
    """Return a few commands that give a file to the program of the chosen command; empty if it opened no file.

    The chosen command comes first if it has a file, then the others, by decreasing faults. They are alternatives: a
    file may be too small to have an effect, and not every file can be made larger by repetition.
    """
    chosen_run = chosen_command.run
    if chosen_run.is_folder or not (chosen_run.file or chosen_run.may_do_nothing):
        return []
    program = _get_program_or_script(chosen_run)
    other_commands = [
        other
        for other in tried_commands
        if other.did_work
        and other.run.file
        and other is not chosen_command
        and not other.run.is_folder
        # A fallback adds an argument, such as an expression, without which the program refused every file.
        and other.run.is_fallback is chosen_run.is_fallback
    ]
    commands_of_program = [other for other in other_commands if _get_program_or_script(other.run) == program]
    if chosen_run.file:
        inputs = [other for other in commands_of_program if other.run.input_file]
        commands_of_program = [chosen_command, *sorted(inputs, key=lambda other: -min(other.faults))]
    else:
        commands_of_program = [other for other in commands_of_program if _opens_other_files(other, chosen_command)]
    return commands_of_program[:_MAX_LARGER_INPUTS]


def find_bare_command(chosen_command: TriedCommand, tried_commands: Iterable[TriedCommand]) -> TriedCommand | None:
    """Return the command without a file that takes more faults than the chosen command with a stand-in; None if none.

    Both are of the same program.
    """
    if not chosen_command.run.stand_in_file:
        return None
    program = _get_program_or_script(chosen_command.run)
    bare_commands = (
        other
        for other in tried_commands
        if not other.run.file and other.did_work and min(other.faults) > max(chosen_command.faults)
    )
    return next((other for other in bare_commands if _get_program_or_script(other.run) == program), None)


def take_similar_faults(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether two commands take nearly the same number of faults."""
    fewest, most = sorted((min(first_command.faults), min(second_command.faults)))
    return most - fewest <= _MAX_SIMILAR_DIFFERENCE * most


def is_given_work(tried_command: TriedCommand) -> bool:
    """Return whether a command does work that the project provides: it is a benchmark, or a program with an input."""
    return _rank(tried_command) < _FIRST_WEAK_RANK


def has_command_with_work(tried_commands: Sequence[TriedCommand]) -> bool:
    """Return whether the best of the tried commands does more than start: a stand-in or a test's data is work too.

    A command with a file that its program does not read is not the best.
    """
    best_command = choose_best_command(tried_commands)
    return best_command is not None and _rank(best_command) <= _LAST_RANK_WITH_WORK


def _rank(tried_command: TriedCommand) -> int:
    """Return the rank of a command: the lower, the more promising.

    The ranks: 0 a benchmark; 1 a program with an input; 2 one of these that touches hardly more memory than a start; 3
    one of these that is hard to compare, a program with a stand-in, a test, or a program that computes for a long time
    without an input; 4 a program without an input; 5 a program that did no work; 6 a program that executes nothing of
    the project.
    """
    if not tried_command.did_work:
        return 6 if tried_command.is_foreign else 5
    if tried_command.run.is_promising and not _is_hard_to_compare(tried_command) and not tried_command.takes_only_start:
        if tried_command.is_like_start or tried_command.touches_little_memory:
            return _FIRST_WEAK_RANK
        return 1 if tried_command.run.input_file else 0
    return 4 if tried_command.may_only_start else _LAST_RANK_WITH_WORK


def _is_hard_to_compare(tried_command: TriedCommand) -> bool:
    """Return whether a gate sees little with a command: its count varies a lot, or varies and takes long to repeat."""
    varies = len(set(tried_command.faults)) > 1
    is_erratic = max(tried_command.faults) > min(tried_command.faults) * _ERRATIC_RATIO
    return is_erratic or (varies and tried_command.work_seconds > MAX_SECONDS)


def _rank_steadiness(tried_command: TriedCommand) -> tuple[bool, bool, bool]:
    """Return a sort key: first the commands that open their file themselves, then the quick, then the steady ones.

    If a shell opens the file instead, the faults of the shell are counted too. A count that varies by a few faults of
    thousands is steady: an exact count of less work would be worth less.
    """
    return (
        is_redirected(tried_command.run),
        tried_command.work_seconds > SLOW_SECONDS,
        not is_steady(tried_command),
    )


def is_steady(tried_command: TriedCommand) -> bool:
    """Return whether the count of a command that works repeats, or varies hardly at all."""
    spread = max(tried_command.faults) - min(tried_command.faults)
    return spread <= _MAX_STEADY_SHARE * min(tried_command.faults)


def is_redirected(run: RunProposal) -> bool:
    """Return whether a shell opens the file of a command, to redirect the program's standard input to it."""
    return bool(run.file) and " < " in run.command


def has_tried_enough(programs: Mapping[str, Sequence[TriedCommand]], next_program: str) -> bool:
    """Return whether enough programs other than the next one worked, or enough programs were tried.

    A single program that was given work is enough. Without one, more programs are tried while the trials are quick.
    """
    # The best command of each other program, if it did some work.
    best_of_programs: list[TriedCommand] = []
    total_seconds, slow_programs = 0.0, 0
    for program, results in programs.items():
        working_commands = [result for result in results if result.faults]
        if program == next_program or not working_commands:
            continue
        if max(result.seconds for result in working_commands) > SLOW_SECONDS:
            slow_programs += 1
        else:
            total_seconds += sum(result.seconds for result in working_commands)
        best_command = _choose_best_of_program(working_commands)
        if best_command.did_work:
            best_of_programs.append(best_command)
    if len(programs) > MAX_PROGRAMS or any(is_given_work(best_command) for best_command in best_of_programs):
        return True
    if total_seconds > MAX_SECONDS or slow_programs >= _MAX_SLOW_PROGRAMS:
        return bool(best_of_programs)
    return len(best_of_programs) >= _count_needed_programs(best_of_programs)


def _count_needed_programs(best_of_programs: Sequence[TriedCommand]) -> int:
    """Return how many programs have to work before no other is tried.

    More are tried if all of them take no more than a start, or if the best are similar tests or examples.
    """
    if all(best.takes_only_start for best in best_of_programs):
        return MAX_PROGRAMS
    best_rank = min(map(_rank, best_of_programs), default=0)
    leading_commands = [best for best in best_of_programs if _rank(best) == best_rank]
    if leading_commands and all(map(_is_test_program, leading_commands)):
        return MAX_PROGRAMS
    if leading_commands and all(map(_is_example, best_of_programs)):
        return _MAX_EXAMPLES + 1  # after the last example, one program of another kind is tried
    return _MAX_WEAK_PROGRAMS


def _choose_kind_test(tried_command: TriedCommand) -> Callable[[TriedCommand], bool] | None:
    """Return the function that tests whether another command is also an example, or also a test program.

    None if the given command is neither.
    """
    return next((is_of_kind for is_of_kind in (_is_example, _is_test_program) if is_of_kind(tried_command)), None)


def _is_test_program(tried_command: TriedCommand) -> bool:
    """Return whether a command runs one of the project's many similar test programs."""
    return tried_command.run.is_test


def _is_example(tried_command: TriedCommand) -> bool:
    """Return whether a command runs one of the project's many similar examples, without input."""
    return tried_command.run.may_do_nothing and bool(_EXAMPLE.search(_get_program_or_script(tried_command.run)))


def _get_program_or_script(run: RunProposal) -> str:
    """Return the program of a command, or the script that an interpreter executes."""
    if run.program:
        return run.program
    words = run.command.split()
    # If the command has a file, a word with such a suffix may be that file.
    scripts = [word for word in words[1:3] if word.endswith((".py", ".js"))]
    return scripts[0] if scripts and not run.file else words[0]


def _opens_other_files(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether two executions of a program opened different files of the build, or these are unknown."""
    return first_command.own_bytes != second_command.own_bytes or not first_command.own_bytes


def may_ignore_file(result_with_file: TriedCommand, result_without_file: TriedCommand) -> bool:
    """Return whether a program did not open its file; if unknown, whether its count is similar without the file."""
    if result_with_file.own_bytes and result_without_file.own_bytes:
        return result_with_file.own_bytes == result_without_file.own_bytes
    return not _have_distinct_counts(result_without_file.faults, result_with_file.faults)


def _have_distinct_counts(first_counts: Sequence[int], second_counts: Sequence[int]) -> bool:
    """Return whether the counts of two commands are clearly separated: by more than either of their ranges."""
    gap = max(min(first_counts) - max(second_counts), min(second_counts) - max(first_counts))
    return gap > max(max(first_counts) - min(first_counts), max(second_counts) - min(second_counts))
