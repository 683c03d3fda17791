"""Finds programs that perf lost, because the kernel hides them: an execution with such a program is no sample.

An execution is watched for them without recording a fault, so this is cheap enough for every sample.

The kernel removes all counters from a program that changes its user, or that its user may not read. A small program
(``lost_programs.c``) detects this from the records of executed programs and mapped files.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from runner.contract.word_list import join_words
from runner.execution.compilation import CompilationError, compile_program
from runner.execution.process_variables import BASE_VARIABLES
from runner.perf.faults_by_file import FaultsByFile
from runner.settings import load_settings

_SOURCE = Path(__file__).with_name("lost_programs.c")
_TIMEOUT_SECONDS = 60.0
"""Seconds that ``lost_programs`` may take to print its findings. On a busy host, it may have to wait some seconds for a
processor, and without its findings the execution is not a sample."""
_MAX_NAMED_PROGRAMS = 3


class LostPrograms(Struct, frozen=True):
    """The programs of an execution that perf lost.

    Attributes
    ----------
    names
        The names of the lost programs.
    complete
        Whether the list is complete; it is not if records were lost or if the execution could not be watched.
    """

    names: tuple[str, ...] = ()
    complete: bool = False


class LostProgramsWatch:
    """Watches a process from before its program's start to its end; the program must not start before :meth:`wait`."""

    def __init__(self, pid: int) -> None:
        """Start the watch of a process and its descendants. Without a compiler, nothing is watched."""
        self._watch: subprocess.Popen[bytes] | None = None
        try:
            program = compile_program(_SOURCE, load_settings().programs, options=["-static"])
        except CompilationError:
            return
        self._watch = subprocess.Popen(
            [program, str(pid)],
            env=dict(BASE_VARIABLES),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        """Wait until the watch has started or failed."""
        if self._watch is not None:
            assert self._watch.stdout is not None
            self._watch.stdout.readline()  # "ready", or the end of the file if the watch failed.

    def read_result(self) -> LostPrograms:
        """Stop the watch; return the lost programs.

        The list is incomplete if the watch never began, does not end in time, or lost records.
        """
        if self._watch is None:
            return LostPrograms(complete=False)
        try:
            # This closes the standard input of the watch, which then ends; if it does not, close() kills it.
            output, _ = self._watch.communicate(timeout=_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return LostPrograms(complete=False)
        return parse_lost_programs(output)

    def close(self) -> None:
        """Kill the watch if it still runs."""
        if self._watch is not None:
            if self._watch.poll() is None:
                self._watch.kill()
            self._watch.communicate()


def parse_lost_programs(output: bytes) -> LostPrograms:
    """Parse the output of ``lost_programs``; the list is incomplete if the output is cut off, or records were lost."""
    lost_records, *names = output.removesuffix(b"\0").split(b"\0")
    if lost_records != b"0" or not output.endswith(b"\0"):
        return LostPrograms(complete=False)
    return LostPrograms(tuple(name.decode(errors="replace") for name in names), complete=True)


def combine_losses(parts: Sequence[LostPrograms]) -> LostPrograms:
    """Return all programs that perf lost in several processes that ran at the same time."""
    names = (name for part in parts for name in part.names)
    return LostPrograms(tuple(dict.fromkeys(names)), all(part.complete for part in parts))


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
