"""Recognises exit codes by which a program reports a result instead of a failure."""

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import RunProposal
from runner.adoption.server_proposals import get_program

_SOLVER_STATUSES = frozenset({10, 20, 30})
"""The exit codes of solvers in competitions: satisfiable, unsatisfiable, and optimum found."""
_SOLVER_KINDS = frozenset({".cnf", ".dimacs", ".gcnf", ".opb", ".qdimacs", ".qcir", ".wcnf"})
"""Suffixes of the problems that these solvers read."""
_STATUS = re.compile(r"\bended with exit code (\d+)\b")


def accept_result_status(run: RunProposal, problem: str) -> RunProposal | None:
    """Return a command that succeeds if the program ends with its result as the exit code again; None if it failed.

    Parameters
    ----------
    problem
        Why the command could not be measured.
    """
    match = _STATUS.search(problem)
    if not match or int(match[1]) not in _SOLVER_STATUSES or PurePosixPath(run.file).suffix not in _SOLVER_KINDS:
        return None
    if "'" in run.command:  # It cannot be quoted below.
        return None
    command = f"sh -c '{run.command}; test $? -eq {match[1]}'"
    return replace(run, command=command, program=get_program(run))
