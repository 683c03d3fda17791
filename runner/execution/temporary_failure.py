"""Decides whether a failure was caused by the state of the host, so that another attempt may succeed."""

import re
import signal

from runner.execution.execute import ProgramResult

_EXTERNAL_SIGNALS = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGXCPU})
"""Signals that come from outside of a program: from the kernel out of memory, an administrator, a shutdown."""
_TEMPORARY_MESSAGES = re.compile(
    # What strerror() prints in the C locale, in which builds run.
    r"No space left on device|Disk quota exceeded|Cannot allocate memory|Out of memory|virtual memory exhausted"
    r"|Too many open files|Resource temporarily unavailable|Input/output error|Read-only file system|Stale file handle"
    r"|Text file busy|Connection (?:timed out|refused|reset)|Network is unreachable|No route to host"
    r"|Temporary failure in name resolution|[Cc]ould not resolve host"
    # What shells, make and compiler drivers print about a child that was killed.
    r"|^Killed$|\] Killed\b|: Killed$|Killed signal terminated program|\(signal: 9,|^Terminated$|\] Terminated\b",
    re.MULTILINE,
)
_SHORTAGE_WORDS = "left too "
"""The beginning of the messages of :mod:`runner.execution.resource_guard` about a shortage of the whole host."""


def is_disk_full(message: str) -> bool:
    """Return whether a message says that a file cannot be written because the disk is full."""
    return "No space left on device" in message or "Disk quota exceeded" in message


def is_temporary(program_result: ProgramResult) -> bool:
    """Return whether the reason for a failure may be temporary: a time-out, a signal, a full disk.

    A build tool ends with an ordinary exit code when its compiler cannot write, or is killed, so its output is searched
    as well. If it prints such a line for another reason, this costs only a second attempt.
    """
    if program_result.explanation:
        return program_result.explanation.startswith(_SHORTAGE_WORDS)
    if program_result.status is None or -program_result.status in _EXTERNAL_SIGNALS:
        return True
    # Shells exit with 128 plus the number of the signal.
    if program_result.status - 128 in _EXTERNAL_SIGNALS:
        return True
    return program_result.status != 0 and bool(
        _TEMPORARY_MESSAGES.search(f"{program_result.output}\n{program_result.error}")
    )
