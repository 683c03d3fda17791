"""Enlarges the sizes in a command, so that a program computes more than in the quick example of a document."""

import re
from collections.abc import Callable

from msgspec.structs import replace

from runner.adoption.command_choice import SLOW_SECONDS, is_steady
from runner.adoption.larger_input import does_enough_work
from runner.adoption.proposal import RunProposal
from runner.adoption.tried_command import TriedCommand

_COMMAND_WITH_SIZES = re.compile(r"\S+(?: --?[A-Za-z][\w-]*(?:=\d+)?| \d+)+")
_NUMBER = re.compile(r"(?<=[ =])\d+(?![^ ])")
_NO_SIZE_OPTION = re.compile(
    r" --?(?:[@djpPstTv]|[\w-]*threads?|jobs|(?:n|num)?[-_]?procs?|[\w-]*process(?:es)?|workers|seed|port|level|"
    r"verbos\w*|device|gpu)[ =]$"
)
"""An option whose number is none of a size, but of threads, for example, which would make the count vary."""
_MAX_EXPONENT = 32
"""A smaller number may be an exponent, as that of ``-g 10`` for 1,024 nodes, so it is increased little by little."""
_MIN_RATIO = 1.2
"""A size that takes fewer times the faults when it is increased is not what the memory depends on."""
_FEW_CPU_SECONDS, _MIN_TIME_RATIO = 0.1, 1.5
"""A command that takes less CPU time than the first, in seconds, hardly computes. A number that makes it take this many
times longer, such as one of rounds, is then increased although it does not change the memory."""
_MAX_QUICK_SECONDS = SLOW_SECONDS / 4
"""A command that takes more CPU time, in seconds, may be too slow with the next size."""


def increase_sizes(tried_command: TriedCommand, try_command: Callable[[RunProposal], TriedCommand]) -> TriedCommand:
    """Return the result of a command with larger sizes in it; the given one if it has none or does enough work.

    Each size is increased as long as this takes many more faults and the program stays quick. If the program hardly
    computes, a number of rounds is increased too.

    Parameters
    ----------
    try_command
        Returns the result of a command.
    """
    best_result = tried_command
    places = _list_size_places(tried_command.run.command) if _has_only_sizes(tried_command.run) else []
    for increase in (_add_two, _double):
        for place in places:
            while _may_take_more(best_result):
                command = _replace_size(best_result.run.command, place, increase)
                if not command:
                    break
                result = try_command(replace(best_result.run, command=command))
                if not _takes_more(result, best_result):
                    break
                best_result = result
    return best_result


def _has_only_sizes(run: RunProposal) -> bool:
    """Return whether the arguments of a command are only options and numbers, and nothing else gives it work."""
    return not (run.file or run.is_test or run.is_server) and bool(_COMMAND_WITH_SIZES.fullmatch(run.command))


def _list_size_places(command: str) -> list[int]:
    """Return which of the numbers in a command are sizes, counted from 0."""
    matches = enumerate(_NUMBER.finditer(command))
    return [place for place, match in matches if not _NO_SIZE_OPTION.search(command[: match.start()])]


def _may_take_more(result: TriedCommand) -> bool:
    # Threads that wait for one another on a loaded host make an execution long.
    seconds = result.cpu_seconds or result.seconds
    return result.did_work and not does_enough_work(result) and seconds < _MAX_QUICK_SECONDS


def _takes_more(larger_result: TriedCommand, result: TriedCommand) -> bool:
    """Return whether a larger size causes much more work, is not slow, and does not make a steady count vary."""
    if not larger_result.did_work or larger_result.work_seconds > SLOW_SECONDS:
        return False
    takes_more_faults = min(larger_result.faults) >= _MIN_RATIO * max(result.faults)
    hardly_computes = 0 < result.cpu_seconds < _FEW_CPU_SECONDS
    takes_longer = hardly_computes and larger_result.cpu_seconds >= _MIN_TIME_RATIO * result.cpu_seconds
    return (takes_more_faults or takes_longer) and (is_steady(larger_result) or not is_steady(result))


def _replace_size(command: str, place: int, increase: Callable[[int], int]) -> str:
    """Return a command with one of its numbers increased; empty if it is not increased so."""
    match = list(_NUMBER.finditer(command))[place]
    size = increase(int(match[0]))
    return f"{command[: match.start()]}{size}{command[match.end() :]}" if size else ""


def _add_two(size: int) -> int:
    """Return a small number increased by two; 0 for another one."""
    return size + 2 if 0 < size < _MAX_EXPONENT else 0


def _double(size: int) -> int:
    return 2 * size
