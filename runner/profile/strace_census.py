"""The census of system calls where the kernel's tracepoints are closed: strace, attached as perf is."""

import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runner.contract.profile import Call, Census
from runner.errors import FaultwatchError
from runner.execution.execute import wait_for_end
from runner.execution.start_block import BASE_VARIABLES
from runner.profile.recording_plan import CALLS

_PATIENCE = 10.0
_ROW = re.compile(
    r"\s*(?P<percent>[\d.]+)\s+(?P<seconds>\d+\.\d+)\s+\d+\s+(?P<calls>\d+)(?:\s+\d+)?\s+(?P<name>[a-z_0-9]+)"
)


class StraceCensus:
    """Counts the calls of a process and what it starts, from when it is attached to the end of the program."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None

    def attach(self, processes: Sequence[int]) -> None:
        """Attach to processes, and wait until that is done.

        Raises
        ------
        FaultwatchError
            Where strace is not there, or may not.
        """
        said = self._output.with_suffix(".said")
        words = ["strace", "-f", "-c", "-o", str(self._output), "-e", f"trace={','.join(CALLS)}"]
        try:
            with said.open("wb") as error:
                self._process = subprocess.Popen(
                    [*words, *(word for pid in processes for word in ("-p", str(pid)))],
                    env=dict(BASE_VARIABLES),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=error,
                )
        except FileNotFoundError:
            raise FaultwatchError("strace is not installed", "Debian and Ubuntu: apt install strace") from None
        deadline = time.monotonic() + _PATIENCE
        while b" attached" not in said.read_bytes():
            if time.monotonic() > deadline or wait_for_end(self._process, 0.02):
                told = said.read_text(encoding="utf-8", errors="replace").strip()
                raise FaultwatchError(
                    f"strace could not attach: {told[:300]}", "`sysctl kernel.yama.ptrace_scope=0` allows it"
                )

    def close(self) -> None:
        """Wait until it has written what it counted."""
        if self._process is not None and not wait_for_end(self._process, _PATIENCE):
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()

    def census(self) -> Census:
        """Return what it counted."""
        text = self._output.read_text(encoding="utf-8", errors="replace") if self._output.exists() else ""
        return parse_summary(text)


def parse_summary(text: str) -> Census:
    """Read the table that ``strace -c`` prints; lines that are none of its rows say nothing."""
    calls = {}
    for line in text.splitlines():
        row = _ROW.fullmatch(line.rstrip())
        if row and row["name"] in CALLS:
            calls[row["name"]] = Call(calls=int(row["calls"]), seconds=float(row["seconds"]))
    return Census(source="strace", calls=calls)
