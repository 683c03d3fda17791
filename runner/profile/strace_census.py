"""Counts system calls with strace if the kernel's tracepoints are not available."""

import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runner.contract.profile import Call, Census
from runner.errors import FaultwatchError
from runner.execution.execution_log import log_command
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.wait_for_child import wait_for_child
from runner.profile.recording_plan import TRACED_CALLS

_TIMEOUT_SECONDS = 10.0
"""Seconds to attach, and to end."""
_ROW = re.compile(
    r"\s*(?P<percent>[\d.]+)\s+(?P<seconds>\d{1,12}\.\d+)\s+\d+\s+(?P<calls>\d{1,15})(?:\s+\d+)?\s+(?P<name>[a-z_0-9]+)",
    re.ASCII,
)


class StraceCensus:
    """Counts the system calls of a process and its children, from the attachment to the end of the program."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def attach(self, processes: Sequence[int]) -> None:
        """Attach to processes, and wait until strace has attached.

        Raises
        ------
        FaultwatchError
            strace is not installed, or is not allowed to attach.
        """
        error_file = self._output.with_suffix(".stderr")
        words = ["strace", "-f", "-c", "-o", str(self._output), "-e", f"trace={','.join(TRACED_CALLS)}"]
        log_command([*words, "-p", ",".join(map(str, processes))])
        try:
            with error_file.open("wb") as error:
                self._process = subprocess.Popen(
                    [*words, *(word for pid in processes for word in ("-p", str(pid)))],
                    env=dict(BASE_VARIABLES),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=error,
                )
        except FileNotFoundError:
            raise FaultwatchError("strace is not installed", "Debian and Ubuntu: apt install strace") from None
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while b" attached" not in error_file.read_bytes():
            if time.monotonic() > deadline or wait_for_child(self._process, 0.02):
                message = error_file.read_text(encoding="utf-8", errors="replace").strip()
                raise FaultwatchError(
                    f"strace could not attach: {message[:300]}", "`sysctl kernel.yama.ptrace_scope=0` allows it"
                )

    def close(self) -> None:
        """Wait until strace has written its counts."""
        if self._process is not None and not wait_for_child(self._process, _TIMEOUT_SECONDS):
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()

    def build_census(self) -> Census:
        """Return the counts."""
        text = self._output.read_text(encoding="utf-8", errors="replace") if self._output.exists() else ""
        return parse_summary(text)


def parse_summary(text: str) -> Census:
    """Parse the table of ``strace -c``; other lines are ignored."""
    calls = {}
    for line in text.splitlines():
        row = _ROW.fullmatch(line.rstrip())
        if row and row["name"] in TRACED_CALLS:
            calls[row["name"]] = Call(calls=int(row["calls"]), seconds=float(row["seconds"]))
    return Census(source="strace", calls=calls)
