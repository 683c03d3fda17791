"""One program, launched and counted: the launcher's command line, its companions, and what they brought."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from runner.contract.report import Reading, Status
from runner.errors import FaultwatchError
from runner.execution.disk_guard import TreeGuard
from runner.execution.execute import Companion, Finished, Program
from runner.execution.in_background import in_background
from runner.execution.launch import Launch, Start
from runner.execution.launcher import launcher
from runner.execution.sandbox import TREE_BYTES, Sandbox
from runner.execution.start_block import BASE_VARIABLES, padded
from runner.perf.attach import AttachedPerf, AttachError
from runner.perf.parse import PerfOutputError
from runner.perf.recording import Recorder, Recording
from runner.perf.region import EVENTS as REGION_EVENTS
from runner.perf.region import Region, descendants
from runner.process_state.memory_group import MemoryGroup


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be counted, and how."""

    command: Sequence[str]
    path: str
    """The file to execute."""
    directory: Path
    environment: Mapping[str, str]
    events: tuple[str, ...]
    region: bool
    sandbox: Sandbox | None
    recording: Recording | None = None
    copies: Mapping[str, Path] = field(default_factory=dict)
    """What the program finds in place of files, by the files' paths."""


class Counted:
    """One of the programs that start together. Made in the process state in which it is to start."""

    def __init__(self, order: Order, start: Start, group: MemoryGroup, stack: ExitStack) -> None:
        self._order = order
        self._group = group
        self._stack = stack
        self._perf: AttachedPerf | None = None
        self._recorders: list[Recorder] = []
        self.launch = stack.enter_context(Launch(start, self._prepare))
        self._region = None
        self._guard = stack.enter_context(TreeGuard(order.directory, TREE_BYTES)) if order.sandbox else None
        if order.region:
            self._region = stack.enter_context(Region(REGION_EVENTS, self._processes, self._record))

    def program(self) -> Program:
        """Return what is to be started."""
        order, binary = self._order, launcher()
        confinement = order.sandbox.confinement if order.sandbox else None
        variables = {**order.environment, **(self._region.variables if self._region else {})}
        environment = padded(variables, order.command)
        # A sandbox lays them over the files itself: in it nobody may.
        laid = {} if order.sandbox else order.copies
        words = self.launch.words(str(binary), order.path, order.command, environment, confinement, copies=laid)
        inherited: list[int] = []
        if order.sandbox:
            inherited.append(self._stack.enter_context(order.sandbox.denied()))
            words = [*order.sandbox.enter(order.directory, binary, inherited[0], order.copies), *words]
        companions: list[Companion] = [one for one in (self.launch, self._region, self._guard) if one]
        return Program(words, BASE_VARIABLES, companions, inherited)

    def readings(self) -> tuple[dict[str, Reading], str]:
        """End the counting; return what was counted, and perf's own words. For a program that ended well.

        Raises
        ------
        FaultwatchError
            Where perf printed what cannot be understood.
        """
        ending = self.launch.ending
        assert ending is not None
        assert self._perf is not None
        self._perf.end()
        for recorder in self._recorders:
            recorder.finish()
        try:
            found = self._perf.readings()
        except PerfOutputError as error:
            raise FaultwatchError(f"perf stat printed what cannot be understood: {error}") from None
        found |= {
            "user-time": Reading(value=ending.user),
            "sys-time": Reading(value=ending.system),
            "elapsed": Reading(value=ending.elapsed),
            "max-rss": Reading(value=ending.max_rss),
        }
        return found | (self._region.readings() if self._region else {}), self._perf.text()

    def conclude(self, done: Finished) -> str:
        """End the launch; return why the program failed, as the second half of a sentence; empty if it succeeded.

        Raises
        ------
        FaultwatchError
            Where it could not even be started.
        """
        self.launch.finish()
        if self._perf:
            self._perf.stop()  # It takes its time, and there is something else to do meanwhile.
        if self._guard and self._guard.trouble:
            return self._guard.trouble
        if self.launch.program is None and done.status is not None:
            said = self.launch.refusal or done.error.strip().rpartition("\n")[2] or done.trouble
            raise FaultwatchError(f"the program cannot be started: {said}", "run `faultwatch doctor`")
        ending = self.launch.ending
        if self.launch.refusal:
            return f"could not be executed: {self.launch.refusal}"
        if done.status is None or ending is None:
            return done.trouble or "vanished"
        return Finished(ending.status, "", "", done.seconds, done.deadline).trouble

    def _prepare(self, pid: int) -> None:
        # perf takes ten milliseconds until it is attached, and so does the kernel to move a process to another group.
        admitted = in_background(partial(self._group.admit, pid))
        self._perf = AttachedPerf([pid], self._order.events)
        self._stack.callback(self._perf.close)
        if self._order.sandbox:
            self._order.sandbox.seal(pid, launcher())
        try:
            admitted()
        except OSError as error:
            raise FaultwatchError(f"the program cannot be put into its control group: {error.strerror}") from None
        try:
            for perf in (self._perf, *([] if self._region else self._record([pid]))):
                perf.send_command("enable")
            if self._order.recording and self._order.recording.tracer:
                self._order.recording.tracer.attach([pid])
                self._stack.callback(self._order.recording.tracer.close)
        except AttachError as error:
            raise FaultwatchError(
                f"perf failed: {error}", "run `faultwatch doctor` to see what this host forbids"
            ) from None

    def _record(self, processes: Sequence[int]) -> list[Recorder]:
        """Attach what records these processes, if anything does."""
        for plan in self._order.recording.plans if self._order.recording else ():
            self._recorders.append(Recorder(plan, processes))
            self._stack.callback(self._recorders[-1].close)
        return self._recorders

    def _processes(self, _started: int) -> list[int]:
        program = self.launch.program
        return [] if program is None else [program, *descendants(program)]


def unsupported(events: Sequence[str]) -> dict[str, Reading]:
    """Return the readings of events that this perf does not know."""
    return {
        name: Reading(status=Status.NOT_SUPPORTED, reason="this version of perf does not know the event")
        for name in events
    }
