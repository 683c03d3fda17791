"""Count a program's region of interest beside the whole process, in the same execution.

The program opens and closes its region through the protocol of ``perf stat --control`` (see ``workloads/region/``).
On the other side of that pipe sits the runner: at the first command it attaches a second perf to the process, with its
counters closed, and from then on passes every command on and every acknowledgement back. The program waits meanwhile,
so not a fault is missed; the perf around the whole process follows only that process, so not a fault is added.

It is attached no earlier, although the program would wait ten milliseconds less: what the program has just started,
threads and processes, comes to rest meanwhile. Attached before the program begins, the first faults of a new thread
fell into the region in one execution of seven.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.contract.report import Reading, Status
from runner.perf.attach import AttachedPerf, AttachError, ControlledPerf
from runner.perf.parse import PerfOutputError

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
_ACK = b"ack\n"
_LONGEST = 100
"""Bytes that a command can have."""


class Region:
    """The pipes to one program, and the perf that counts its region once it asks.

    ``find`` returns the program and whatever it has started, given the process that was started for it. ``record``
    attaches what is to record the region as well.
    """

    def __init__(
        self,
        events: Sequence[str],
        find: Callable[[int], Sequence[int]],
        record: Callable[[Sequence[int]], Sequence[ControlledPerf]] = lambda _: (),
    ) -> None:
        self._find = find
        self._record = record
        self._recorders: Sequence[ControlledPerf] = ()
        self._events = tuple(events)
        self._perf: AttachedPerf | None = None
        self._trouble = ""
        self._pending = b""
        self._commands, self._program_control = os.pipe()
        self._program_ack, self._acks = os.pipe()
        # A program that commands without end, and reads no answer, must not stop the runner.
        os.set_blocking(self._acks, False)
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

    def serve(self, pid: int) -> bool:
        """Carry out the commands that have arrived, and acknowledge each."""
        self._pending += os.read(self._commands, 4096)
        while b"\n" in self._pending:
            line, _, self._pending = self._pending.partition(b"\n")
            if self._trouble:
                pass  # The program goes on, uncounted: its other numbers are still good.
            elif line in {b"enable", b"disable"}:
                try:
                    for perf in (self._attach(pid), *self._recorders):
                        perf.send_command(line.decode())
                except (AttachError, OSError) as error:
                    self._trouble = str(error)
            else:
                self._trouble = f"the program wrote {line[:40]!r} where only enable and disable are known"
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self._acks, _ACK)
        if len(self._pending) > _LONGEST:
            self._pending, self._trouble = b"", "the program wrote what is no command"
        return True

    def readings(self) -> dict[str, Reading]:
        """End the counting and return what the region counted, under names with :data:`PREFIX`."""
        if self._perf is None and not self._trouble:
            self._trouble = "the program never opened its region"
        if self._perf is not None:
            self._perf.end()
        if self._perf is not None and not self._trouble:
            try:
                return {PREFIX + name: reading for name, reading in self._perf.readings().items()}
            except (OSError, PerfOutputError) as error:
                self._trouble = f"perf's output for the region cannot be read: {error}"
        missing = Reading(status=Status.NOT_COUNTED, reason=self._trouble[:1000])
        return {PREFIX + name: missing for name in self._events}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._perf is not None:
            self._perf.close()
        for descriptor in (
            *(self._commands, self._program_control, self._program_ack, self._acks),
            *(CONTROL_FD, ACK_FD),
        ):
            with suppress(OSError):
                if descriptor >= 0:
                    os.close(descriptor)

    def _attach(self, pid: int) -> AttachedPerf:
        if self._perf is None:
            program = self._find(pid)
            if not program:
                raise AttachError("the program could not be found")
            self._perf = AttachedPerf(program, self._events)
            self._recorders = self._record(program)
        return self._perf


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
