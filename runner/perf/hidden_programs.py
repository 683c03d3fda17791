"""Finds programs that the kernel hides from perf, which makes an execution useless as a sample."""

from collections.abc import Sequence

from runner.contract.word_list import join_words
from runner.perf.faults_by_file import FaultsByFile

_MAX_NAMED_PROGRAMS = 3


def describe_hidden_programs(faults: FaultsByFile | None) -> str:
    """Return which programs were hidden, as the predicate of a sentence; empty if none was.

    Parameters
    ----------
    faults
        The faults of the watched execution; None if it could not be watched.
    """
    if faults is None or not faults.hidden:  # If it could not be watched, only the watch of each sample can find them.
        return ""
    return describe_hidden_names(faults.hidden)


def describe_hidden_names(names: Sequence[str]) -> str:
    """Return that a program executes hidden programs with these names, as the predicate of a sentence."""
    named_programs = [repr(name) for name in names[:_MAX_NAMED_PROGRAMS]]
    reason = "it switches to another user or group (set-user-ID, set-group-ID), or this user is not allowed to read it"
    if len(named_programs) > 1:
        reason = (
            "each of them switches to another user or group (set-user-ID, set-group-ID), or this user is not allowed "
            "to read it"
        )
    return f"executes {join_words(named_programs)}, which the kernel hides from perf: {reason}"
