"""Count a program's region of interest beside the whole process, in the same execution.

The program opens and closes its region through the protocol of ``perf stat --control`` (see ``workloads/region/``).
On the other side of that pipe sits the runner: at the first command it attaches a second perf to the process, with its
counters closed, and from then on passes every command on and every acknowledgement back. The program waits meanwhile,
so not a fault is missed; the perf around the whole process follows only that process, so not a fault is added.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.contract.report import Reading, Status
from runner.perf.command import SEPARATOR
from runner.perf.parse import PerfOutputError, parse_csv

CONTROL_FD, ACK_FD = 198, 199
"""Numbers of the descriptors in the program. Fixed: their digits are in its environment, which lies on its stack."""
EVENTS = (
    "minor-faults",
    "major-faults",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "task-clock",
    "instructions",
    "cycles",
)
PREFIX = "region:"
_PATIENCE = 20.0
"""Seconds in which perf must attach and acknowledge."""
_ACK = b"ack\n"


class RegionError(Exception):
    """The region could not be counted; says why."""


class Region:
    """The pipes to one program, and the perf that counts its region once it asks."""

    def __init__(self, scratch: Path, environment: Mapping[str, str], events: Sequence[str]) -> None:
        self._output = scratch / "region.csv"
        self._environment = dict(environment)
        self._events = tuple(events)
        self._perf: subprocess.Popen[bytes] | None = None
        self._trouble = ""
        self._pending = b""
        self._commands, self._program_control = os.pipe()
        self._program_ack, self._acks = os.pipe()
        self._to_perf, self._from_perf = -1, -1
        os.dup2(self._program_control, CONTROL_FD, inheritable=True)
        os.dup2(self._program_ack, ACK_FD, inheritable=True)

    @property
    def variables(self) -> dict[str, str]:
        """What the program must find in its environment."""
        return {"FAULTWATCH_CONTROL_FD": str(CONTROL_FD), "FAULTWATCH_ACK_FD": str(ACK_FD)}

    @property
    def descriptors(self) -> tuple[int, int]:
        """What the program must inherit."""
        return CONTROL_FD, ACK_FD

    def fileno(self) -> int:
        """Return the descriptor that is readable when the program has a command."""
        return self._commands

    def serve(self, perf_pid: int) -> None:
        """Carry out the commands that have arrived, and acknowledge each.

        Parameters
        ----------
        perf_pid
            The perf around the whole process, whose child is the program.
        """
        self._pending += os.read(self._commands, 4096)
        while b"\n" in self._pending:
            line, _, self._pending = self._pending.partition(b"\n")
            if self._trouble:
                pass  # The program goes on, uncounted: its other numbers are still good.
            elif line in {b"enable", b"disable"}:
                try:
                    self._attach(perf_pid)
                    self._tell_perf(line)
                except (RegionError, OSError) as error:
                    self._trouble = str(error)
            else:
                self._trouble = f"the program wrote {line[:40]!r} where only enable and disable are known"
            with suppress(BrokenPipeError):
                os.write(self._acks, _ACK)

    def readings(self) -> dict[str, Reading]:
        """End the counting and return what the region counted, under names with :data:`PREFIX`."""
        if self._perf is None and not self._trouble:
            self._trouble = "the program never opened its region"
        if self._perf is not None:
            self._end_perf()
        if not self._trouble:
            try:
                text = self._output.read_text(encoding="utf-8", errors="replace")
                parsed = parse_csv(text, SEPARATOR, asked=self._events)
                return {PREFIX + name: reading for name, reading in parsed.readings.items()}
            except (OSError, PerfOutputError) as error:
                self._trouble = f"perf's output for the region cannot be read: {error}"
        missing = Reading(status=Status.NOT_COUNTED, reason=self._trouble[:1000])
        return {PREFIX + name: missing for name in self._events}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._perf is not None and self._perf.poll() is None:
            self._perf.kill()
            self._perf.wait()
        for descriptor in (
            *(self._commands, self._program_control, self._program_ack, self._acks),
            *(self._to_perf, self._from_perf, CONTROL_FD, ACK_FD),
        ):
            with suppress(OSError):
                if descriptor >= 0:
                    os.close(descriptor)

    def _attach(self, perf_pid: int) -> None:
        if self._perf is not None:
            return
        program = descendants(perf_pid)
        if not program:
            raise RegionError("the program could not be found below perf")
        control, self._to_perf = os.pipe()
        self._from_perf, ack = os.pipe()
        try:
            self._perf = subprocess.Popen(
                [
                    *("perf", "stat", "-x", SEPARATOR, "-o", str(self._output), "-e", ",".join(self._events)),
                    *("-D", "-1", "--control", f"fd:{control},{ack}", "-p", ",".join(map(str, program))),
                ],
                env=self._environment,
                pass_fds=(control, ack),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(control)
            os.close(ack)

    def _tell_perf(self, command: bytes) -> None:
        os.write(self._to_perf, command + b"\n")
        deadline = time.monotonic() + _PATIENCE
        answer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._from_perf, selectors.EVENT_READ)
            while b"\n" not in answer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise RegionError(f"perf did not acknowledge within {_PATIENCE:g} s")
                # Some versions send a NUL behind the line; it comes along with the next answer.
                got = os.read(self._from_perf, 16)
                if not got:
                    raise RegionError("perf could not attach to the program")
                answer += got

    def _end_perf(self) -> None:
        """The program has ended, and its perf ends with it; one that does not is asked to."""
        assert self._perf is not None
        for nudge in (None, signal.SIGINT, signal.SIGKILL):
            if nudge is not None:
                self._perf.send_signal(nudge)
            try:
                self._perf.wait(2)
            except subprocess.TimeoutExpired:
                continue
            return


def descendants(pid: int) -> list[int]:
    """Return all live processes below one, parents first; from /proc, without the one itself."""
    found: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop(0)
        children: list[int] = []
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children += map(int, (task / "children").read_text(encoding="ascii").split())
        found += children
        queue += children
    return found
