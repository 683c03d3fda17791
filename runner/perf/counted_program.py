"""Launches and counts one program: the launcher's command line, its companions, and their results."""

import errno
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.report import Reading, Status
from runner.errors import FaultwatchError
from runner.execution.background_thread import start_in_background
from runner.execution.execute import Companion, Program, ProgramResult
from runner.execution.launcher import Launch, SimultaneousStart
from runner.execution.launcher_compilation import get_launcher
from runner.execution.load_commands import LoadCommands
from runner.execution.process_variables import BASE_VARIABLES, pad_variables
from runner.execution.resource_guard import ResourceGuard
from runner.execution.sandbox import MAX_TREE_BYTES, Sandbox
from runner.perf.attach_to_running import list_descendants_in_order
from runner.perf.attached_perf import AttachedPerf, AttachError
from runner.perf.attached_recorder import Recorder, Recording
from runner.perf.lost_programs import LostPrograms, LostProgramsWatch
from runner.perf.parse import PerfOutputError
from runner.perf.perf_binary import REPORT_HINT
from runner.perf.region import REGION_EVENTS, Region
from runner.process_state.memory_group import MemoryGroup

OUT_OF_FILES_ERRORS = frozenset({errno.EMFILE, errno.ENFILE})
"""The errors of the kernel if this process or this host has run out of file descriptors."""


class CountingOrder(Struct, frozen=True):
    """Which program to count, and how."""

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
    """The copies to mount over files, by the path of the original."""
    load_commands: LoadCommands | None = None
    """The channel for commands beside the program. If there is one, recorders are attached by the caller, not at the
    start."""


class CountedProgram:
    """One of the programs that start together, with its counters. Must be created in the program's process state.

    Attributes
    ----------
    lost
        The programs that perf lost; known only after :meth:`stop_counting`.
    """

    def __init__(self, order: CountingOrder, start: SimultaneousStart, group: MemoryGroup, stack: ExitStack) -> None:
        """Prepare to start and count a program.

        Parameters
        ----------
        start
            Lets several programs start at the same time.
        group
            The control group that the program joins.
        stack
            Closes what this object opens.
        """
        self._order = order
        self._group = group
        self._stack = stack
        self._perf: AttachedPerf | None = None
        self._recorders: list[Recorder] = []
        self.launch = stack.enter_context(Launch(start, self._attach_tools))
        self.lost = LostPrograms()
        self._watch: LostProgramsWatch | None = None
        self._region = None
        self._guard = stack.enter_context(ResourceGuard(order.directory, MAX_TREE_BYTES)) if order.sandbox else None
        if order.region:
            self._region = stack.enter_context(
                Region(REGION_EVENTS, lambda _: self.list_processes(), self.attach_recorders)
            )

    def create_program(self) -> Program:
        """Return the program to start.

        If its start raises an ``OSError`` in :data:`OUT_OF_FILES_ERRORS`, there are too many programs.
        """
        order, binary = self._order, get_launcher()
        confinement = order.sandbox.confinement if order.sandbox else None
        variables = {**order.environment, **(self._region.variables if self._region else {})}
        environment = pad_variables(variables, order.command)
        # A sandbox mounts the copies itself: the launcher runs inside of it, where it must not mount anything.
        copies = {} if order.sandbox else order.copies
        command = self.launch.build_command_line(
            str(binary),
            order.path,
            order.command,
            environment,
            confinement,
            copies=copies,
            orders_descriptor=order.load_commands.launcher_descriptor if order.load_commands else -1,
        )
        inherited_descriptors: list[int] = []
        if order.sandbox:
            inherited_descriptors.append(self._stack.enter_context(order.sandbox.open_system_call_filter()))
            prefix = order.sandbox.build_command_prefix(order.directory, binary, inherited_descriptors[0], order.copies)
            command = [*prefix, *command]
        if order.recording and order.recording.follower:
            command = order.recording.follower.wrap_command(command)
            inherited_descriptors += order.recording.follower.inherited_descriptors
        possible_companions = (self.launch, self._region, self._guard, order.load_commands)
        companions: list[Companion] = [companion for companion in possible_companions if companion]
        return Program(command, BASE_VARIABLES, companions, inherited_descriptors)

    def stop_counting(self) -> tuple[dict[str, Reading], str]:
        """Stop counting; return the readings and perf's output. Call it only for a program that succeeded.

        Raises
        ------
        FaultwatchError
            If the output of perf cannot be parsed.
        """
        ending = self.launch.ending
        assert ending is not None
        assert self._perf is not None
        assert self._watch is not None
        self._perf.end()
        self.lost = self._watch.read_result()
        for recorder in self._recorders:
            recorder.finish()
        try:
            readings = self._perf.read_readings()
        except PerfOutputError as error:
            raise FaultwatchError(f"the output of perf stat cannot be parsed: {error}", REPORT_HINT) from None
        readings |= {
            "user-time": Reading(value=ending.user),
            "sys-time": Reading(value=ending.system),
            "elapsed": Reading(value=ending.elapsed),
            "max-rss": Reading(value=ending.max_rss),
        }
        return readings | (self._region.stop_counting() if self._region else {}), self._perf.read_output()

    def conclude(self, launcher_result: ProgramResult) -> str:
        """End the launch; return why the program failed, as the predicate of a sentence; empty if it succeeded.

        Parameters
        ----------
        launcher_result
            How the launcher ended. It has reported itself how the program ended (``self.launch.ending``).

        Raises
        ------
        FaultwatchError
            If the program could not be started.
        """
        self.launch.finish()
        if self._perf:
            self._perf.stop()  # Without waiting: perf takes a while to end.
        if self._guard and self._guard.problem:
            return self._guard.problem
        # The launcher exited before it had started a program.
        if self.launch.program is None and launcher_result.status is not None:
            last_error_line = launcher_result.error.strip().rpartition("\n")[2]
            reason = self.launch.refusal or last_error_line or launcher_result.problem
            raise FaultwatchError(f"the program cannot be started: {reason}", "run `faultwatch doctor`")
        ending = self.launch.ending
        if self.launch.refusal:
            return f"could not be executed: {self.launch.refusal}"
        # The launcher was killed, at the deadline or by a companion, or it ended without an account of the program.
        if launcher_result.status is None or ending is None:
            return launcher_result.problem or "vanished"
        if not ending.status:  # Otherwise the program's own failure says more than the processes that it left behind.
            outlived = self.launch.describe_outliving_processes()
            if outlived:
                return outlived
        # Use the wording of ProgramResult, which depends only on the status, so the output is left empty.
        return ProgramResult(ending.status, "", "", launcher_result.seconds, launcher_result.deadline).problem

    def make_program_result(self, launcher_result: ProgramResult) -> ProgramResult:
        """Return the result of the program: that of the launcher, with the program's status and why it was killed."""
        status, ending = launcher_result.status, self.launch.ending
        # A launcher without a status was killed at the deadline; the program then has no status either.
        if status is not None and ending is not None:
            status = ending.status
        return replace(launcher_result, explanation=self._guard.problem if self._guard else "", status=status)

    def _attach_tools(self, pid: int) -> None:
        """Attach perf and all other tools to a program that is about to start, and begin to count.

        The program is also moved to its control group, and its sandbox is sealed.

        Raises
        ------
        OSError
            This process or the host has run out of file descriptors.
        FaultwatchError
            The program cannot be moved to its group, or perf cannot be attached.
        """
        # Work in the background: attaching perf and moving a process to another group take 10 ms each.
        wait_for_group = start_in_background(partial(self._group.add_process, pid))
        self._watch = LostProgramsWatch(pid)
        self._stack.callback(self._watch.close)
        self._perf = AttachedPerf([pid], self._order.events)
        self._stack.callback(self._perf.close)
        if self._order.sandbox:
            self._order.sandbox.seal(pid, get_launcher())
        try:
            wait_for_group()
        except OSError as error:
            if error.errno in OUT_OF_FILES_ERRORS:
                raise
            raise FaultwatchError(
                f"the program cannot be put into its control group: {error.strerror}", "run `faultwatch doctor`"
            ) from None
        try:
            self._watch.wait()
            # A region or a load begins later; recorders are attached then.
            is_recorded_later = self._region or self._order.load_commands
            recorders = [] if is_recorded_later else self.attach_recorders([pid])
            for perf in (self._perf, *recorders):
                perf.send_command("enable")
            tracers = self._order.recording.tracers if self._order.recording else ()
            for tracer in tracers:
                tracer.attach([pid])
                self._stack.callback(tracer.close)
        except AttachError as error:
            raise FaultwatchError(
                f"perf failed: {error}", "run `faultwatch doctor` to see what this host forbids"
            ) from None

    def attach_recorders(self, processes: Sequence[int]) -> list[Recorder]:
        """Attach recorders to these processes, and return the recorders, which do not record yet."""
        plans = self._order.recording.plans if self._order.recording else ()
        for plan in plans:
            self._recorders.append(Recorder(plan, processes))
            self._stack.callback(self._recorders[-1].close)
        return self._recorders

    def list_processes(self) -> list[int]:
        """Return the program and its present descendants; empty if it does not exist yet."""
        program = self.launch.program
        return [] if program is None else [program, *list_descendants_in_order(program)]


def make_unsupported_readings(events: Sequence[str]) -> dict[str, Reading]:
    """Return the readings of events that this perf does not know."""
    return {
        name: Reading(status=Status.NOT_SUPPORTED, reason="this version of perf does not know the event")
        for name in events
    }
