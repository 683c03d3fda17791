"""Counts a program's region of interest in addition to the whole process, in the same execution.

The program opens and closes its region by the protocol of ``perf stat --control`` (see ``workloads/region/``). The
runner is at the other end of the pipe. At the first command, it attaches a second perf to the process, with disabled
counters; then it forwards every command, and returns every acknowledgement. The program waits for the acknowledgement,
so no fault is missed. The perf that counts the whole process does not count the second perf, so no fault is added.

If perf were attached earlier, the program would not have to wait for 10 ms. But during this wait, threads and processes
that it has just started come to rest. When perf was attached before the start of the program, the first faults of a
new thread fell into the region in one of seven executions.
"""

import os
import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.report import Reading, Status
from runner.errors import FaultwatchError
from runner.perf.attach_to_running import attach_to_running
from runner.perf.attached_perf import AttachedPerf, AttachError, ControlledPerf
from runner.perf.parse import PerfOutputError

CONTROL_FD, ACK_FD = 198, 199
"""The numbers of the descriptors in the program. They are fixed, because they are in its environment variables, whose
length affects the stack."""
REGION_EVENTS = (
    "minor-faults",
    "major-faults",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "task-clock",
    "instructions",
    "cycles",
)
REGION_PREFIX = "region:"
_ACK = b"ack\n"
_MAX_COMMAND_BYTES = 100
"""The largest number of bytes of a command."""
_READ_BYTES = 4096
"""Bytes that are read from the pipe at once."""
_MAX_QUOTED_BYTES = 40


class Region:
    """The pipes to a program, and the perf that counts its region on request.

    ``find_processes`` returns the program and its children, given the process that was started for the program.
    ``attach_recorders`` attaches the recorders of the region to these processes.
    """

    def __init__(
        self,
        events: Sequence[str],
        find_processes: Callable[[int], Sequence[int]],
        attach_recorders: Callable[[Sequence[int]], Sequence[ControlledPerf]] = lambda _: (),
    ) -> None:
        """Open the pipes.

        Raises
        ------
        FaultwatchError
            This process may not have as many open files as the descriptors of the program require.
        """
        _require_descriptors()
        self._find_processes = find_processes
        self._attach_recorders = attach_recorders
        self._recorders: Sequence[ControlledPerf] = ()
        self._events = tuple(events)
        self._perf: AttachedPerf | None = None
        self._problem = ""
        self._pending_bytes = b""
        self._commands, self._program_control = os.pipe()
        try:
            self._program_ack, self._acks = os.pipe()
        except OSError:
            os.close(self._commands)
            os.close(self._program_control)
            raise
        # A program that sends commands without end but reads no answers must not block the runner.
        os.set_blocking(self._acks, False)
        os.dup2(self._program_control, CONTROL_FD, inheritable=True)
        os.dup2(self._program_ack, ACK_FD, inheritable=True)

    @property
    def variables(self) -> dict[str, str]:
        """Variables for the environment of the program."""
        return {"FAULTWATCH_CONTROL_FD": str(CONTROL_FD), "FAULTWATCH_ACK_FD": str(ACK_FD)}

    @property
    def descriptors(self) -> tuple[int, int]:
        """Descriptors for the program to inherit."""
        return CONTROL_FD, ACK_FD

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the program sends a command."""
        return self._commands

    def serve(self, pid: int) -> bool:
        """Execute the received commands, and acknowledge each; return True, because more can come at any time.

        After a problem, commands are only acknowledged, so that the program continues.
        """
        self._pending_bytes += os.read(self._commands, _READ_BYTES)
        while b"\n" in self._pending_bytes:
            line, _, self._pending_bytes = self._pending_bytes.partition(b"\n")
            if self._problem:
                pass  # The program continues without region counts; its other readings are still valid.
            elif line in {b"enable", b"disable"}:
                try:
                    region_perf = self._attach(pid)  # Attaches the recorders as well.
                    for perf in (region_perf, *self._recorders):
                        perf.send_command(line.decode())
                except (AttachError, OSError) as error:
                    self._problem = str(error)
            else:
                command = line[:_MAX_QUOTED_BYTES].decode(errors="replace")
                self._problem = f"the program wrote the command {command!r}; only enable and disable are valid"
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self._acks, _ACK)
        if len(self._pending_bytes) > _MAX_COMMAND_BYTES:
            self._pending_bytes, self._problem = (
                b"",
                "the program wrote a line that is too long for a command; only enable and disable are valid",
            )
        return True

    def stop_counting(self) -> dict[str, Reading]:
        """Stop counting, and return the readings of the region, with names that start with :data:`REGION_PREFIX`."""
        if self._perf is None and not self._problem:
            self._problem = "the program never opened its region: it must mark its work with faultwatch_region"
        if self._perf is not None:
            self._perf.end()
        if self._perf is not None and not self._problem:
            try:
                return {REGION_PREFIX + name: reading for name, reading in self._perf.read_readings().items()}
            except (OSError, PerfOutputError) as error:
                self._problem = f"perf's output for the region cannot be read: {error}"
        missing_reading = Reading(status=Status.NOT_COUNTED, reason=self._problem[:MAX_LINE_CHARACTERS])
        return {REGION_PREFIX + name: missing_reading for name in self._events}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting, and close all ends of the two pipes."""
        if self._perf is not None:
            self._perf.close()
        pipe_ends = (self._commands, self._program_control, self._program_ack, self._acks)
        for descriptor in (*pipe_ends, CONTROL_FD, ACK_FD):
            with suppress(OSError):
                os.close(descriptor)

    def _attach(self, pid: int) -> AttachedPerf:
        """Attach perf and its recorders to the program at its first command."""
        if self._perf is None:
            self._perf, program = attach_to_running(lambda: self._find_processes(pid), self._events)
            self._recorders = self._attach_recorders(program)
        return self._perf


def _require_descriptors() -> None:
    """Raise if the limit of open files excludes the descriptors of the program."""
    max_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if max_files != resource.RLIM_INFINITY and max_files <= max(CONTROL_FD, ACK_FD):
        raise FaultwatchError(f"this host allows only {max_files} open files at once", "run `ulimit -n 1024` first")
