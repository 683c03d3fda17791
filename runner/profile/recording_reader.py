"""Reads the events of a recording with ``perf script``."""

import os
import re
import resource
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.execution_log import log_command
from runner.execution.process_variables import BASE_VARIABLES
from runner.perf.perf_binary import REPORT_HINT, get_perf_program, run_tool
from runner.profile.recorded_system_calls import find_call_numbers
from runner.profile.script_parser import Event, ScriptError, parse_script

ADDRESS_FIELDS = ("-F", "sw:pid,tid,time,event,addr,ip,sym,symoff,dso")
STACK_FIELDS = ("-F", "sw:pid,tid,time,event,ip,sym,symoff,dso", "--show-switch-events")
FAULT_STACK_FIELDS = (
    *("-F", "sw:pid,tid,time,event,addr,ip,sym,symoff,dso"),
    *("-F", "trace:pid,tid,time,event,trace,ip,sym,symoff,dso"),
)
"""The fields of faults with addresses and stacks, and of system calls with stacks."""
TRACE_FIELDS = ("-F", "trace:pid,tid,time,event,trace")
CALL_FIELDS = ("-F", "sw:pid,tid,time,event", *TRACE_FIELDS)
"""The fields of a recording of tracepoints only. They include those of perf's own software event, which records
mappings."""
_CALL_STATISTICS = re.compile(r"^(?:raw_)?syscalls:\S+ stats:\s+SAMPLE events: +(\d+)", re.ASCII | re.MULTILINE)
MAX_SECONDS = 3600.0
MAX_MEMORY_BYTES = 8 << 30
"""The limit of perf script's address space in bytes, because it reads the symbols of untrusted binaries."""
_MAX_ERROR_BYTES = 10_000
"""The largest number of bytes that are read of perf's messages."""
_MAX_MESSAGE_CHARACTERS = 300
"""The largest number of characters of perf's message that an error quotes."""


def read_events(
    file: Path, *fields: str, sandbox_prefix: Sequence[str] = (), inherited_descriptors: Sequence[int] = ()
) -> Iterator[Event]:
    """Yield the events of a recording in chronological order.

    Parameters
    ----------
    file
        The recording.
    fields
        The options of ``perf script`` that select the fields to print.
    sandbox_prefix
        The words that confine the command, because perf reads function names from untrusted binaries.
    inherited_descriptors
        Descriptors for the command to inherit.

    Raises
    ------
    FaultwatchError
        perf has recorded nothing, cannot read its own file or does not finish in time, or its output cannot be parsed.
    """
    _require_recording(file)
    options = ("--show-mmap-events", "--show-task-events", "--show-lost-events")
    # --no-inline, because addr2line, which looks up all offsets of a binary at once, finds inlined functions faster.
    words = [*sandbox_prefix, get_perf_program(), "script", "-i", str(file), "--no-inline", "--ns", *fields, *options]
    # Parse the output while perf writes it, with limits on time and memory.
    with tempfile.TemporaryFile() as error_file:
        log_command(words)
        with subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=error_file,
            pass_fds=inherited_descriptors,
            env=dict(BASE_VARIABLES),
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout is not None
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
            deadline = _Deadline(process)
            try:
                lines = _list_whole_lines(process.stdout)
                call_numbers = find_call_numbers(os.uname().machine)
                has_fault_stacks = fields == FAULT_STACK_FIELDS
                yield from parse_script(lines, has_fault_stacks=has_fault_stacks, call_numbers=call_numbers)
            except ScriptError as error:
                process.kill()
                raise FaultwatchError(f"the output of perf script cannot be parsed: {error}", REPORT_HINT) from None
            except BaseException:
                process.kill()
                raise
            finally:
                deadline.cancel()
        error_file.seek(0)
        message = error_file.read(_MAX_ERROR_BYTES).decode(errors="replace")
    if deadline.has_passed:
        raise FaultwatchError(
            f"perf script did not finish within {MAX_SECONDS:g} s",
            "record fewer faults: use a smaller input, or observe a running program for a shorter time",
        )
    if process.returncode:
        last_line = message.strip().rpartition("\n")[2] or "it printed no error"
        raise FaultwatchError(
            f"perf script failed: {last_line[:_MAX_MESSAGE_CHARACTERS]}", f"try again; if it fails again, {REPORT_HINT}"
        )


def _require_recording(file: Path) -> None:
    """Check that perf has recorded something.

    Raises
    ------
    FaultwatchError
        It has not; the message quotes the error that it printed.
    """
    if file.exists() and file.stat().st_size:
        return
    error_file = file.with_suffix(".error")
    message = error_file.read_text(encoding="utf-8", errors="replace").strip() if error_file.exists() else ""
    first_line = message.partition("\n")[0] or "it printed no error"
    raise FaultwatchError(
        f"perf record wrote nothing: {first_line[:_MAX_MESSAGE_CHARACTERS]}",
        "`faultwatch doctor` shows what keeps perf from recording",
    )


def count_calls(file: Path, sandbox_prefix: Sequence[str] = ()) -> int | None:
    """Return how many system calls, or returns from them, a recording contains; None if perf does not say it."""
    words = [*sandbox_prefix, get_perf_program(), "report", "--stats", "-i", str(file)]
    result = run_tool(words)
    if result is None or result.returncode or "SAMPLE events" not in result.stdout:
        return None
    return sum(int(match[1]) for match in _CALL_STATISTICS.finditer(result.stdout))


def _list_whole_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines without a last one that lacks its end: perf was killed or failed while it wrote it."""
    return (line for line in lines if line.endswith("\n"))


class _Deadline:
    """Kills a process that runs too long, which ends its output."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.has_passed = False
        self._process = process
        self._timer = threading.Timer(MAX_SECONDS, self._kill_process)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _kill_process(self) -> None:
        self.has_passed = True
        self._process.kill()
