"""Records system calls with strace, for hosts on which tracepoints are not available."""

import re
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.execution_log import log_command
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.wait_for_child import wait_for_child
from runner.profile.recorded_system_calls import ENTRY_PREFIX, MEMORY_CALLS, MREMAP_EXIT
from runner.profile.script_parser import Traced

_TIMEOUT_SECONDS = 10.0
"""Seconds that strace may take to attach, and to end."""
_POLL_SECONDS = 0.02
"""Seconds between two checks of whether strace has attached."""
_CALL = re.compile(
    r"(?P<thread>\d{1,10}) +(?P<seconds>\d{1,12}\.\d{1,9}) "
    r"(?P<name>[a-z_0-9]{1,20})\((?P<arguments>[^()]*)(?:\) += (?P<result>0x[0-9a-f]{1,16})|\).*| <.*)",
    re.ASCII,
)
_RESUMED_MREMAP = re.compile(
    r"(?P<thread>\d{1,10}) +(?P<seconds>\d{1,12}\.\d{1,9}) <\.\.\. mremap resumed>\) += (?P<result>0x[0-9a-f]{1,16})",
    re.ASCII,
)
"""The end of an mremap during which strace wrote a line about another thread."""
_NUMBER = re.compile(r"-?(?:0x[0-9a-f]{1,16}|\d{1,20})", re.ASCII)
_NO_ADDRESS = "NULL"
_LARGEST_ARGUMENT = 2**64 - 1
_MAX_MESSAGE_CHARACTERS = 300


class StraceRecording:
    """Records the system calls of a process and its children until they end."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def attach(self, processes: Sequence[int]) -> None:
        """Attach to processes, and wait until strace has attached.

        Raises
        ------
        FaultwatchError
            strace is not installed, is not allowed to attach, or does not attach in time.
        """
        error_file = self._output.with_suffix(".stderr")
        options = ("-f", "-ttt", "-X", "raw", "-s", "0", "-e", "signal=none", "-e", f"trace={','.join(MEMORY_CALLS)}")
        command = ["strace", *options, "-o", str(self._output), "-p", ",".join(map(str, processes))]
        log_command(command)
        try:
            with error_file.open("wb") as error:
                self._process = subprocess.Popen(
                    command,
                    env=dict(BASE_VARIABLES),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=error,
                )
        except FileNotFoundError:
            raise FaultwatchError(
                f"strace is not installed in {BASE_VARIABLES['PATH']}", "Debian and Ubuntu: apt install strace"
            ) from None
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        # When it has attached, strace prints "strace: Process N attached" to standard error.
        while b" attached" not in error_file.read_bytes():
            if time.monotonic() > deadline or wait_for_child(self._process, _POLL_SECONDS):
                message = error_file.read_text(encoding="utf-8", errors="replace").strip()
                message = message[:_MAX_MESSAGE_CHARACTERS] or f"it did not do so within {_TIMEOUT_SECONDS:g} s"
                raise FaultwatchError(
                    f"strace could not attach: {message}",
                    "if kernel.yama.ptrace_scope forbids it, `sysctl kernel.yama.ptrace_scope=0` allows it",
                )

    def close(self) -> None:
        """Wait until strace has written all calls, or kill it after some seconds."""
        if self._process is not None and not wait_for_child(self._process, _TIMEOUT_SECONDS):
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()

    def read_calls(self) -> Iterator[Traced]:
        """Yield the calls in chronological order, with times of ``CLOCK_MONOTONIC``."""
        if self._output.exists():
            with self._output.open(encoding="utf-8", errors="replace") as lines:
                yield from parse_calls(lines, time.time() - time.monotonic())


def parse_calls(lines: Iterable[str], offset: float) -> Iterator[Traced]:
    """Parse the output of ``strace -f -ttt -X raw`` into the same form as tracepoints; ignore other lines.

    The process id of a call is the id of its thread, because strace does not show to which process a thread belongs.

    Parameters
    ----------
    offset
        The seconds by which the clock of strace, which counts from 1970, is ahead of the recording's clock.
    """
    for line in lines:
        if end := _RESUMED_MREMAP.fullmatch(line.rstrip()):
            thread = int(end["thread"])
            yield Traced(thread, thread, float(end["seconds"]) - offset, MREMAP_EXIT, end["result"])
            continue
        call = _CALL.fullmatch(line.rstrip())
        if call is None or call["name"] not in MEMORY_CALLS:
            continue
        names = MEMORY_CALLS[call["name"]].arguments
        values = [part.strip().replace(_NO_ADDRESS, "0") for part in call["arguments"].split(",")]
        if len(values) < len(names) or not all(_NUMBER.fullmatch(value) for value in values[: len(names)]):
            continue
        numbers = (int(value, 16 if "x" in value else 10) & _LARGEST_ARGUMENT for value in values[: len(names)])
        text = ", ".join(f"{name}: {number:#x}" for name, number in zip(names, numbers, strict=True))
        thread = int(call["thread"])
        moment = float(call["seconds"]) - offset
        yield Traced(thread, thread, moment, ENTRY_PREFIX + call["name"], text)
        if call["name"] == "mremap" and call["result"]:
            yield Traced(thread, thread, moment, MREMAP_EXIT, call["result"])
