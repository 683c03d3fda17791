"""Recognises exit codes by which a program reports a result instead of a failure."""

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import RunProposal
from runner.adoption.server_proposals import get_program

_SOLVER_STATUSES = frozenset({10, 20, 30})
"""The exit codes of solvers in competitions: satisfiable, unsatisfiable, and optimum found."""
_SOLVER_KINDS = frozenset({".cnf", ".dimacs", ".gcnf", ".opb", ".qdimacs", ".qcir", ".wcnf"})
"""Suffixes of the problems that these solvers read."""
_STATUS = re.compile(r"\bended with exit code (\d+)\b")


_WARNING_STATUS = 1
"""The exit code with which a program that formats or checks a file reports that it found something to improve."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_MIN_WORDS = 20
"""A file with fewer different words shows poorly whether a program prints it."""
_MIN_PRINTED_SHARE = 0.8
"""The smallest share of a file's words that a program prints if it prints the file, in another format."""
_MIN_LINE_SHARE = 0.5
"""The smallest number of lines of such an output, as a share of the file's. A program that only quotes a file, because
it refuses it, often does so in a single line."""


def accept_result_status(run: RunProposal, problem: str, prints_file: Callable[[], bool]) -> RunProposal | None:
    """Return a command that succeeds if the program ends with its result as the exit code again; None if it failed.

    Results are the exit codes of solvers for the problems that solvers read, and the code of a warning for a program
    that prints its input file. A command with a single quote is not changed: None.

    Parameters
    ----------
    problem
        Why the command could not be measured.
    prints_file
        Returns whether the program prints most of its file, so that it has not failed if it only reports warnings.
    """
    match = _STATUS.search(problem)
    if not match or "'" in run.command:  # A quote cannot be quoted below.
        return None
    status = int(match[1])
    is_solution = status in _SOLVER_STATUSES and PurePosixPath(run.file).suffix in _SOLVER_KINDS
    if not is_solution and not (status == _WARNING_STATUS and run.input_file and not run.is_folder and prints_file()):
        return None
    command = f"sh -c '{run.command}; test $? -eq {status}'"
    return replace(run, command=command, program=get_program(run))


def contains_most_words(output: str, content: str) -> bool:
    """Return whether a program has printed a file: most of its words, which are enough, in about as many lines."""
    words = set(_WORD.findall(content))
    if len(output.splitlines()) < _MIN_LINE_SHARE * len(list(filter(str.strip, content.splitlines()))):
        return False
    return len(words) >= _MIN_WORDS and len(words & set(_WORD.findall(output))) >= _MIN_PRINTED_SHARE * len(words)
