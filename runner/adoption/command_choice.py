"""Decides which of the commands that were tried is measured, and whether to try more. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from runner.adoption.proposal import IMPORT_OPTION, RunProposal
from runner.adoption.tried_command import TriedCommand

_MAX_PROGRAMS = 12
"""How many programs are tried at most."""
_EXAMPLE = re.compile(r"example|demo|sample", re.IGNORECASE)
_MAX_EXAMPLES = 5
"""How many examples are tried; the one with the most faults does the most work."""
_MAX_WEAK_PROGRAMS = 3
"""How many programs without an input of the project are tried; the best is proposed."""
_FIRST_WEAK_RANK = 2
"""The first rank of commands that got no work of the project's own."""
_MIN_ADDED_SHARE = 0.1
"""The smallest share of the faults of a start that an input has to add, to be more than a start."""
_MIN_RANGE_RATIO = 10
"""How many times wider the range of a count has to be than another one, to vary much more."""
_MIN_START_RANGE_RATIO = 3
"""How many times wider the range of a start's count has to be than that with an input, to say nothing of that."""
_MAX_LARGER_INPUTS = 3
"""How many inputs of a program are repeated, each in a build of its own, until the program does more work."""
SLOW_SECONDS = 2.0
"""Seconds of an execution after which it is too slow to be repeated dozens of times."""
MAX_SECONDS = 4.0
"""Seconds of all commands that worked, each executed once, after which no better one is looked for."""


def choose_best(tried: Sequence[TriedCommand]) -> TriedCommand | None:
    """Return the command to propose: of the best program, with a file if it reads one; None if none works.

    A program that was given work comes before one that got a stand-in or a test, and that before one that may only
    start. Of equals, one whose count repeats comes first, then the one that executes more of the project's code.
    """
    programs: dict[str, list[TriedCommand]] = {}
    for candidate in tried:
        if candidate.faults:
            programs.setdefault(_get_program_or_script(candidate.run), []).append(candidate)
    if not programs:
        return None
    best_of_programs = [_choose_best_of_program(results) for results in programs.values()]
    best = min(
        best_of_programs, key=lambda candidate: (_rank(candidate), *_rank_steadiness(candidate), -candidate.own_faults)
    )
    is_alike = _find_alike(best)
    if is_alike:
        # Examples and tests are many and alike: of them, the one with the most faults does the most work.
        alike = [
            candidate for candidate in best_of_programs if is_alike(candidate) and candidate.did_work is best.did_work
        ]
        return min(alike, key=lambda other: (_rank(other), *_rank_steadiness(other), -min(other.faults)))
    return best


def _choose_best_of_program(results: Sequence[TriedCommand]) -> TriedCommand:
    """Return the best of a program's commands that work: an input that it reads, else the first that does some work.

    A program has read a file if the tracer saw it open the file, and if its fault count with the file differs by more
    than the noise, which few executions do not show well. Those that only print their version or usage come last.
    """
    working = sorted(results, key=lambda candidate: not candidate.did_work)
    # The command without a file, with which the others are compared.
    first = next((candidate for candidate in working if not candidate.run.file), working[0])
    # Prefer an input that the program reads.
    inputs = [candidate for candidate in working if candidate.run.input_file and candidate.did_work]
    reading = [
        candidate
        for candidate in inputs
        if candidate is first
        or not first.did_work
        or _reads_more(candidate, first)
        or (_opens_other_files(candidate, first) and _lies_steadily_above(candidate, first))
    ]
    if reading:
        # One program's inputs execute much the same code: of them, the one with most faults asks for the most work.
        start_faults = min(first.faults) if first.did_work and not first.run.input_file else 0
        return min(
            reading,
            key=lambda candidate: (
                adds_little(candidate, start_faults),
                *_rank_steadiness(candidate),
                -min(candidate.faults),
            ),
        )
    # Otherwise, another file that it reads, or with which its count is steadier.
    for other in working:
        if not other.did_work or other is first or other.run.input_file:
            continue
        if _reads_more(other, first) or _is_steadier(other, first):
            return other
    # Otherwise, the command without a file, unless only another one does some work.
    return first if first.did_work or not working[0].did_work else working[0]


def _reads_more(with_input: TriedCommand, without_input: TriedCommand) -> bool:
    """Return whether a program has read its file, compared with an execution that worked without it."""
    return _opens_other_files(with_input, without_input) and _have_distinct_counts(
        without_input.faults, with_input.faults
    )


def _is_steadier(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether the count of the second command varies, and that of the first repeats or varies much less."""
    first_range = max(first_command.faults) - min(first_command.faults)
    second_range = max(second_command.faults) - min(second_command.faults)
    return first_range * _MIN_RANGE_RATIO < second_range


def _lies_steadily_above(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether each count of the first command is above all of the second, whose count varies much more."""
    first_range = max(first_command.faults) - min(first_command.faults)
    second_range = max(second_command.faults) - min(second_command.faults)
    is_above = min(first_command.faults) > max(second_command.faults)
    return is_above and first_range * _MIN_START_RANGE_RATIO < second_range


def adds_little(with_input: TriedCommand, start_faults: int) -> bool:
    """Return whether an input adds hardly anything to the faults of a start, if those are known (not 0)."""
    return min(with_input.faults) - start_faults < start_faults * _MIN_ADDED_SHARE


def mark_imports(tried: Sequence[TriedCommand]) -> list[TriedCommand]:
    """Return commands that were tried, with those scripts marked that hardly do more than import the project."""
    imports = [result for result in tried if IMPORT_OPTION in result.run.command and result.faults]
    import_faults = min((min(result.faults) for result in imports), default=0)
    return [
        replace(result, only_imports=bool(result.faults) and result.run.is_test and adds_little(result, import_faults))
        for result in tried
    ]


def count_start_faults(chosen_command: TriedCommand, tried: Sequence[TriedCommand]) -> int:
    """Return the faults of a command's program without any input; 0 if that does not work."""
    program = _get_program_or_script(chosen_command.run)
    start_commands = (other for other in tried if other.faults and other.run.may_do_nothing and not other.run.is_test)
    return min(
        (min(start.faults) for start in start_commands if _get_program_or_script(start.run) == program), default=0
    )


def list_descriptions(chosen_command: TriedCommand, runs: Iterable[RunProposal]) -> list[RunProposal]:
    """Return the commands with which a command's program only prints its version or usage."""
    program = _get_program_or_script(chosen_command.run)
    return [run for run in runs if run.only_describes_itself and _get_program_or_script(run) == program]


def list_commands_with_files(chosen_command: TriedCommand, tried: Sequence[TriedCommand]) -> list[TriedCommand]:
    """Return a few commands of the chosen one's program that get a file: itself, then others, the most faults first.

    The file of the first may be too small to show. Not each file can be repeated. Empty if no file was opened.
    """
    chosen_run = chosen_command.run
    if not chosen_run.file and not chosen_run.may_do_nothing:
        return []
    program = _get_program_or_script(chosen_run)
    others = [
        other
        for other in tried
        if other.did_work and other.run.file and other is not chosen_command and not other.run.needs_failures
    ]
    of_program = [other for other in others if _get_program_or_script(other.run) == program]
    if chosen_run.file:
        inputs = [other for other in of_program if other.run.input_file]
        of_program = [chosen_command, *sorted(inputs, key=lambda other: -min(other.faults))]
    else:
        of_program = [other for other in of_program if _opens_other_files(other, chosen_command)]
    return of_program[:_MAX_LARGER_INPUTS]


def is_given_work(tried: TriedCommand) -> bool:
    """Return whether a command works that was given work by the project: a benchmark, or a program with an input."""
    return _rank(tried) < _FIRST_WEAK_RANK


def has_input_of_its_own(tried: TriedCommand) -> bool:
    """Return whether a command works that has some input, be it a test's or a stand-in, and does more than start."""
    return bool(tried.faults) and _rank(tried) <= _FIRST_WEAK_RANK


def _rank(tried: TriedCommand) -> int:
    """Return how promising a command is, the best first.

    The ranks: 0 a benchmark, 1 a program with an input, 2 one with a stand-in, a test, or one without an input that
    computes for long, 3 one without an input, 4 one that did no work, 5 one that executes nothing of the project.
    """
    if not tried.did_work:
        return 5 if tried.is_foreign else 4
    if tried.run.is_promising:
        return 1 if tried.run.input_file else 0
    return 3 if tried.may_only_start else _FIRST_WEAK_RANK


def _rank_steadiness(tried: TriedCommand) -> tuple[bool, bool, bool]:
    """Return a sort key: first the commands that a gate can repeat, because they are quick and their count repeats.

    The faults of a shell that only opens a file for the program would be counted too.
    """
    return is_redirected(tried.run), tried.seconds > SLOW_SECONDS, len(set(tried.faults)) > 1


def is_redirected(run: RunProposal) -> bool:
    """Return whether a command reads a file from its standard input, which a shell opens."""
    return bool(run.file) and " < " in run.command


def has_tried_enough(programs: Mapping[str, Sequence[TriedCommand]], next_program: str) -> bool:
    """Return whether enough other programs than the next one worked, or enough programs were tried.

    One that was given work is enough. Others may be surpassed, as long as that is quick.
    """
    # The best command of each other program that did some work.
    best_of_programs: list[TriedCommand] = []
    total_seconds = 0.0
    for program, results in programs.items():
        working = [result for result in results if result.faults]
        if program == next_program or not working:
            continue
        total_seconds += sum(result.seconds for result in working)
        best = _choose_best_of_program(working)
        if best.did_work:
            best_of_programs.append(best)
    if len(programs) > _MAX_PROGRAMS or any(is_given_work(best) for best in best_of_programs):
        return True
    if total_seconds > MAX_SECONDS:
        return bool(best_of_programs)
    return len(best_of_programs) >= _count_needed_programs(best_of_programs)


def _count_needed_programs(best_of_programs: Sequence[TriedCommand]) -> int:
    """Return how many programs have to work before no other is tried: more of those that are many and alike."""
    best_rank = min(map(_rank, best_of_programs), default=0)
    leaders = [best for best in best_of_programs if _rank(best) == best_rank]
    if leaders and all(map(_is_test_program, leaders)):
        return _MAX_PROGRAMS
    if leaders and all(map(_is_example, best_of_programs)):
        return _MAX_EXAMPLES + 1  # after the last example, one program of another kind is tried
    return _MAX_WEAK_PROGRAMS


def _find_alike(tried: TriedCommand) -> Callable[[TriedCommand], bool] | None:
    """Return what tells the commands of the same kind if that is a kind of which a project has many; otherwise None."""
    return next((is_of_kind for is_of_kind in (_is_example, _is_test_program) if is_of_kind(tried)), None)


def _is_test_program(tried: TriedCommand) -> bool:
    """Return whether a command runs one of the project's many similar test programs."""
    return tried.run.is_test


def _is_example(tried: TriedCommand) -> bool:
    """Return whether a command runs one of the project's many similar examples, without input."""
    return tried.run.may_do_nothing and bool(_EXAMPLE.search(_get_program_or_script(tried.run)))


def _get_program_or_script(run: RunProposal) -> str:
    """Return the program of a command, or the script that an interpreter executes."""
    if run.program:
        return run.program
    words = run.command.replace("'", " ").split()
    if words[:3] == ["sh", "-c", "exec"]:
        return words[3]
    scripts = [word for word in words[1:3] if word.endswith((".py", ".js"))]
    return scripts[0] if scripts and not run.file else words[0]


def _opens_other_files(first_command: TriedCommand, second_command: TriedCommand) -> bool:
    """Return whether two executions of a program may have opened different files of the build."""
    return first_command.own_bytes != second_command.own_bytes or not first_command.own_bytes


def may_ignore_file(with_file: TriedCommand, without_file: TriedCommand) -> bool:
    """Return whether a program did not open its file; if that is unknown, whether its count is the same without it."""
    if with_file.own_bytes and without_file.own_bytes:
        return with_file.own_bytes == without_file.own_bytes
    return not _have_distinct_counts(without_file.faults, with_file.faults)


def _have_distinct_counts(first_counts: Sequence[int], second_counts: Sequence[int]) -> bool:
    """Return whether the counts of two commands lie clearly apart."""
    gap = max(min(first_counts) - max(second_counts), min(second_counts) - max(first_counts))
    return gap > max(max(first_counts) - min(first_counts), max(second_counts) - min(second_counts))
