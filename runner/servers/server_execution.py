"""Executes a server once: start, fill, windows, stop. The windows of a start are not independent, so it is one sample.

The counters of a window are attached to all processes of the server while it is idle, and are enabled during the load.
Only the server is counted: the load generator is a child of the launcher, not of the server.
"""

import os
import shlex
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from runner.contract.report import MAX_QUOTED_LINE_CHARACTERS, Case, Reading, Sample, Stage, Window
from runner.contract.steady_state import has_levelled_off, list_window_faults
from runner.errors import FaultwatchError
from runner.execution.background_program import BackgroundProgram
from runner.execution.execution_log import log_command
from runner.execution.launcher import SimultaneousStart, resolve_program
from runner.execution.launcher_compilation import get_launcher
from runner.execution.load_commands import CommandResult, LoadCommands
from runner.execution.process_variables import PROCESS_VARIABLES, pad_variables
from runner.execution.sandbox import MAX_TASKS, Sandbox
from runner.perf.attach_to_running import attach_to_running
from runner.perf.attached_perf import AttachError
from runner.perf.attached_recorder import Recorder, Recording
from runner.perf.counted_events import ATTACHED_EVENTS
from runner.perf.counted_program import CountedProgram, CountingOrder, make_unsupported_readings
from runner.perf.event_support import split_known_events
from runner.perf.fault_count_check import explain_miscount
from runner.perf.parse import PerfOutputError
from runner.perf.perf_binary import REPORT_HINT
from runner.perf.program_failure import MAX_OUTPUT_CHARACTERS, ExecutionFailure, raise_on_failure
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.memory_stat import count_group_faults
from runner.process_state.process_state import ProcessState
from runner.servers.listening import Listener, find_listeners, is_port_open, is_socket_open
from runner.servers.lock_waits import choose_lock_wait_filters, rename_lock_waits
from runner.servers.ports_and_folders import provide_resources
from runner.servers.process_figures import read_activity, read_process_figures
from runner.servers.server_processors import allow_processors
from runner.servers.window_readings import combine_windows, derive_load_metrics, fill_idle_counts, subtract_figures
from runner.work_reports.metric_formulas import derive_sys_percent
from runner.work_reports.work_done import WorkDone
from runner.work_reports.work_output import UnreadableWorkError, read_work
from runner.workload import Workload
from runner.workload.bound_server import BoundServer, ServerResources, bind_server
from runner.workload.definition import LoadRecipe, ServerRecipe, list_server_placeholders

MAX_STEADY_WINDOWS = 20
"""The largest number of warm-up windows: after these, the warm-up ends even if the server is not steady."""
_IDLE_SECONDS = 0.02
"""Seconds for which the server must be idle after the load before the window ends."""
_MAX_IDLE_SHARE = 0.05
"""The share of one processor that an idle server may use: many servers wake up regularly to check clocks and queues."""
_MAX_SETTLE_CPU_SECONDS = 1.0
"""Seconds of CPU time after the load at which a window ends even if the server is still busy."""
_MAX_SETTLE_SECONDS = 10.0
"""Seconds after the load at which a window ends even if the server still waits for a processor."""
_END_SECONDS = 5.0
"""Seconds to wait after a failed load to see whether the server ends."""
_LISTEN_SECONDS = 0.2
"""Seconds for which a program that listens may take to begin listening on further ports or sockets."""
_READY_PERIOD_SECONDS = 0.05
"""Seconds between two attempts of the command that checks whether the server is ready."""
_MAX_QUOTED_READY_LOG_CHARACTERS = 100
_DOCTOR_HINT = "run `faultwatch doctor` to see what this host forbids"


class ServerOrder(Struct, frozen=True):
    """Which server to start, how to load it, and what to count.

    Attributes
    ----------
    load_cpus
        The processors of the load generator; empty for all.
    n_windows
        The number of windows to measure, without a warm-up; None for the warm-up and windows of the workload.
    """

    workload: Workload
    case: Case
    directory: Path
    state: ProcessState
    load_cpus: frozenset[int] = frozenset()
    sandbox: Sandbox | None = None
    recording: Recording | None = None
    copies: Mapping[str, Path] = MappingProxyType({})
    n_windows: int | None = None


class RunningServer(Struct, frozen=True):
    """A server that was started: its counters, its process, the channel for its load, and its control group."""

    counted_program: CountedProgram
    background_program: BackgroundProgram
    channel: LoadCommands
    group: MemoryGroup


class ServerExecution:
    """A running server, its load, and its windows so far. Created by :func:`start_server`."""

    def __init__(
        self, order: ServerOrder, bound_server: BoundServer, resources: ServerResources, running: RunningServer
    ) -> None:
        """Keep what was started, and divide the workload's events into those that perf knows and unknown ones."""
        server, load = order.workload.server, order.workload.load
        assert server is not None
        assert load is not None
        self._server: ServerRecipe = server
        self._load: LoadRecipe = load
        self._order = order
        self._bound_server = bound_server
        self._resources = resources
        self._counted_program = running.counted_program
        self._program = running.background_program
        self._channel = running.channel
        self._group = running.group
        self._recorders: list[Recorder] | None = None
        self._stop_deadline: float | None = None  # in monotonic time; None until the server is asked to stop
        self._events, self._unknown_events = split_known_events(order.workload.metrics.events)
        self._filters = choose_lock_wait_filters(self._events)
        self.windows: list[Window] = []

    @property
    def needs_warm_up(self) -> bool:
        """Whether the next window is a warm-up."""
        finished_windows = len(self.windows)
        # An order with a number of windows asks for no warm-up. After the first measured window, no window is a
        # warm-up, whatever was counted.
        if self._order.n_windows is not None or any(not window.is_warm_up for window in self.windows):
            return False
        if self._load.warm_up == "steady":
            return finished_windows < MAX_STEADY_WINDOWS and not has_levelled_off(list_window_faults(self.windows, {}))
        return finished_windows < self._load.warm_up

    @property
    def is_finished(self) -> bool:
        """Whether all windows are measured."""
        measured_windows = sum(not window.is_warm_up for window in self.windows)
        return measured_windows >= (self._order.n_windows or self._load.windows)

    def run(self) -> Sample:
        """Wait until the server is ready, fill it, run all windows, and stop it; return the sample of this start.

        Raises
        ------
        ExecutionFailure
            The server or the load generator fails, or perf did not count all of the server.
        """
        self.prepare()
        while not self.is_finished:
            self.run_window()
        return self.stop()

    def prepare(self) -> None:
        """Wait until the server is ready, and fill it.

        Raises
        ------
        ExecutionFailure
            The server or the command that fills it fails.
        """
        self._wait_until_ready()
        if self._bound_server.fill:
            self._run_command_or_raise(self._bound_server.fill, "fill")

    def _wait_until_ready(self) -> None:
        """Wait until the server is ready, as its workload says.

        Raises
        ------
        ExecutionFailure
            The server has ended, or is not ready in time.
        """
        deadline = time.monotonic() + self._server.ready_timeout
        self._program.wait_until(lambda: self._counted_program.launch.is_started, deadline)
        # A ready command replaces the check of the port and socket, but not the wait for a line of output.
        if self._server.ready_log is not None or self._server.ready_command is None:
            is_ready = self._program.wait_until(self._looks_ready, deadline)
            self._require_alive("before it was ready")
            if not is_ready:
                raise self._kill_server(
                    f"was not ready within {self._server.ready_timeout:g} s: {self._describe_unready()}"
                )
        if self._bound_server.ready_command:
            self._wait_for_ready_command(deadline)

    def find_listeners(self, seconds: float) -> list[Listener]:
        """Wait until the program listens, and return where; empty if it does not within ``seconds``, or ends."""

        def find_now() -> list[Listener]:
            if not self._counted_program.launch.is_started:
                return []
            return find_listeners(self._counted_program.list_processes())

        self._program.wait_until(lambda: bool(find_now()), time.monotonic() + seconds)
        # It may begin to listen on several ports or sockets one after the other.
        self._wait_until_time(time.monotonic() + _LISTEN_SECONDS)
        return find_now()

    def _wait_until_time(self, moment: float) -> None:
        """Wait until a time of the monotonic clock, or until the server has ended."""
        self._program.wait_until(lambda: False, moment)

    def run_command_in_server_network(self, command: Sequence[str], seconds: float) -> CommandResult:
        """Run a command in the network of the server."""
        return self._run_command_until_end(command, time.monotonic() + seconds)

    def run_window(self) -> Window:
        """Load the server once while it is counted, and return the window.

        Raises
        ------
        ExecutionFailure
            The server or the load generator fails, or the load generator does not report its work.
        FaultwatchError
            perf cannot be attached, or its output cannot be parsed.
        """
        # Attach perf to the server.
        is_warm_up = self.needs_warm_up
        try:
            perf, processes = attach_to_running(
                self._counted_program.list_processes, (*ATTACHED_EVENTS, *self._events), self._filters
            )
        except AttachError as error:
            self._require_alive(f"before window {len(self.windows) + 1}", _END_SECONDS)
            raise FaultwatchError(f"perf failed: {error}", _DOCTOR_HINT) from None
        # Count, and if requested record, while the load runs and until the server is idle again.
        try:
            recorders = [] if is_warm_up else self._attach_recorders_once(processes)
            before = read_process_figures(self._counted_program.list_processes())
            for attached_perf in (perf, *recorders):
                attached_perf.send_command("enable")
            result = self._run_command_or_raise(self._bound_server.load, f"window {len(self.windows) + 1}")
            self._wait_until_idle()
            for attached_perf in (perf, *recorders):
                attached_perf.send_command("disable")
            after = read_process_figures(self._counted_program.list_processes())
            perf.end()
            readings = fill_idle_counts(perf.read_readings()) | make_unsupported_readings(self._unknown_events)
            if self._filters:
                readings = rename_lock_waits(readings)
        except AttachError as error:
            raise FaultwatchError(f"perf failed: {error}", _DOCTOR_HINT) from None
        except PerfOutputError as error:
            raise FaultwatchError(f"the output of perf stat cannot be parsed: {error}", REPORT_HINT) from None
        finally:
            perf.close()
        # Add the figures that are not perf's.
        work = self._read_work(result)
        readings |= {"elapsed": Reading(value=result.seconds), **subtract_figures(before, after)}
        if work:
            readings |= derive_load_metrics(readings, work)
        readings |= derive_sys_percent(readings)
        window = Window(
            is_warm_up=is_warm_up,
            readings=readings,
            operations=work.operations if work and not work.is_rate else self._load.operations,
            resident=after.resident,
        )
        self.windows.append(window)
        return window

    def request_stop(self) -> None:
        """Send the stop signal and do not wait; do nothing if the server has a stop command. Call :meth:`stop` later.

        Two servers that are asked to stop before either is waited for end at the same time.

        Raises
        ------
        ExecutionFailure
            The server has already ended.
        """
        if self._bound_server.stop_command:
            return
        self._require_alive("before it was stopped")
        self._stop_deadline = time.monotonic() + self._server.stop_timeout
        if self._counted_program.launch.program is not None:
            try:
                os.kill(self._counted_program.launch.program, signal.Signals[self._server.stop_signal])
            except ProcessLookupError:
                # It has just ended by itself, but processes that it started still run, so its end is not noticed yet.
                self._require_alive("before it was stopped", _END_SECONDS)

    def stop(self) -> Sample:
        """Stop the server, unless it was already asked to, and return the sample of this start.

        Raises
        ------
        ExecutionFailure
            The server does not stop in time, leaves processes behind, or perf did not count all of it.
        """
        if self._stop_deadline is None:
            self.request_stop()
        deadline = self._stop_deadline
        if deadline is None:  # The server has a stop command.
            self._require_alive("before it was stopped")
            deadline = time.monotonic() + self._server.stop_timeout
            self._run_command_or_raise(
                self._bound_server.stop_command, "stop_command", deadline=deadline, may_end_server=True
            )
        stop_method = "its stop_command" if self._bound_server.stop_command else self._server.stop_signal
        if not self._program.wait_until(lambda: self._program.has_ended, deadline):
            raise self._kill_server(
                f"did not stop within {self._server.stop_timeout:g} s after {stop_method}, and was killed"
            )
        launcher_result = self._program.end(self._server.stop_timeout)
        problem = self._counted_program.conclude(launcher_result)
        launch = self._counted_program.launch
        if launch.ending is not None:
            # Processes that outlive the server are a problem even if it exited as expected.
            outlived = launch.describe_outliving_processes()
            if outlived:
                problem = outlived
            elif self._is_expected_exit_status(launch.ending.status):
                problem = ""
        program_result = self._counted_program.make_program_result(launcher_result)
        raise_on_failure(self._bound_server.command, problem, program_result, self._group)
        return self._make_sample()

    def _looks_ready(self) -> bool:
        """Return whether the server has printed its ready line or, without one, listens on its port and socket."""
        process = self._counted_program.launch.program
        if process is None or not self._counted_program.launch.is_started:
            return False
        if self._server.ready_log is not None:
            return self._server.ready_log in self._program.printed_output
        placeholders = list_server_placeholders(self._server)
        return ("port" not in placeholders or is_port_open(process, int(self._resources.port))) and (
            "socket" not in placeholders or is_socket_open(process, self._resources.socket)
        )

    def _describe_unready(self) -> str:
        """Return what the server has not done that would show that it is ready, as a clause."""
        if self._server.ready_log is not None:
            return f"it has not printed {self._server.ready_log[:_MAX_QUOTED_READY_LOG_CHARACTERS]!r}"
        placeholders = list_server_placeholders(self._server)
        names = [f"{{{name}}}" for name in ("port", "socket") if name in placeholders]
        return f"it is not listening on {'both ' if len(names) > 1 else ''}{' and '.join(names)}"

    def _wait_for_ready_command(self, deadline: float) -> None:
        """Repeat the ready command until it succeeds; at the deadline, kill the server and raise the failure."""
        while True:
            result = self._run_command_until_end(self._bound_server.ready_command, deadline)
            self._require_alive("before it was ready")
            if not result.problem:
                return
            if time.monotonic() >= deadline:
                words = shlex.join(self._bound_server.ready_command)
                raise self._kill_server(
                    f"was not ready within {self._server.ready_timeout:g} s: `{words}` {result.problem}"
                )
            self._wait_until_time(min(deadline, time.monotonic() + _READY_PERIOD_SECONDS))

    def _wait_until_idle(self) -> None:
        """Wait until the server has finished the work that the load caused, such as closing connections.

        A server that waits for a processor is not idle, although it uses no CPU time.
        """
        deadline = time.monotonic() + _MAX_SETTLE_SECONDS
        interval_start, activity_at_start = time.monotonic(), read_activity(self._counted_program.list_processes())
        previous_activity = activity_at_start
        while interval_start < deadline:
            self._wait_until_time(min(deadline, interval_start + _IDLE_SECONDS))
            now, activity = time.monotonic(), read_activity(self._counted_program.list_processes())
            used_nanoseconds = activity.nanoseconds - previous_activity.nanoseconds
            is_idle = used_nanoseconds <= _MAX_IDLE_SHARE * 1e9 * (now - interval_start) and not activity.is_runnable
            if is_idle or activity.nanoseconds - activity_at_start.nanoseconds >= _MAX_SETTLE_CPU_SECONDS * 1e9:
                return
            interval_start, previous_activity = now, activity

    def _run_command_or_raise(
        self, command: Sequence[str], purpose: str, *, deadline: float | None = None, may_end_server: bool = False
    ) -> CommandResult:
        """Run a command beside the server; return its result. If it fails, raise with ``purpose`` in the message."""
        deadline = deadline or time.monotonic() + self._order.workload.workload.timeout
        result = self._run_command_until_end(command, deadline)
        if not may_end_server:
            # A load often fails because the server does.
            self._require_alive(f"during {purpose}", _END_SECONDS if result.problem else 0)
        # A command that may end the server may also end with it.
        if result.problem and not (may_end_server and self._program.has_ended):
            log = "\n".join(
                f"--- {title} of the command\n{text[-MAX_OUTPUT_CHARACTERS:].rstrip()}"
                for title, text in (("standard error", result.error), ("standard output", result.output))
                if text.strip()
            )
            message = f"{purpose}: `{shlex.join(command)}` {result.problem}"
            raise ExecutionFailure(message, log, was_stopped=result.timed_out)
        return result

    def _run_command_until_end(self, command: Sequence[str], deadline: float) -> CommandResult:
        """Run a command beside the server until it ends or the deadline passes; return its result, even if it failed.

        Raises
        ------
        ExecutionFailure
            The program of the command does not exist.
        """
        order, sandbox = self._order, self._order.sandbox
        path, missing_reason = _find_program(command[0], order.directory, PROCESS_VARIABLES["PATH"], sandbox)
        if missing_reason:
            raise ExecutionFailure(missing_reason)
        log_command(command, order.directory, "beside the server")

        def seal(pid: int) -> None:
            """Confine the process before it executes the command."""
            if sandbox:
                sandbox.seal(pid, get_launcher())

        return self._channel.run(
            command,
            path,
            pad_variables(PROCESS_VARIABLES, command),
            self._program,
            cpus=order.load_cpus,
            deadline=deadline,
            seal=seal,
        )

    def _read_work(self, result: CommandResult) -> WorkDone | None:
        """Return the work that the load generator reports; None if the workload declares no report of work.

        Raises
        ------
        ExecutionFailure
            The output does not report the work in the declared format.
        """
        load = self._load
        if load.output == "none":
            return None
        try:
            work = read_work(result.output, load.output, load.pattern)
        except UnreadableWorkError as error:
            lines = result.output.strip().splitlines()
            output_clause = "it printed nothing"
            if lines:
                output_clause = f"the last line of its output is {lines[-1][:MAX_QUOTED_LINE_CHARACTERS]!r}"
            raise ExecutionFailure(
                f"[load] command does not report the work done: {error}; {output_clause}",
                result.output[-MAX_OUTPUT_CHARACTERS:],
            ) from None
        return work.with_operations(load.operations) if work.is_rate and load.operations else work

    def _attach_recorders_once(self, processes: Sequence[int]) -> list[Recorder]:
        """Return the recorders of the windows; the first call, before the first measured window, attaches them."""
        if self._recorders is None:
            self._recorders = self._counted_program.attach_recorders(processes)
        return self._recorders

    def _require_alive(self, phase: str, seconds: float = 0) -> None:
        """Raise if the server has ended, or ends within ``seconds``: its end is not noticed immediately.

        Raises
        ------
        ExecutionFailure
            The server has ended; the message says how.
        """
        if not self._program.wait_until(lambda: self._program.has_ended, time.monotonic() + seconds):
            return
        launcher_result = self._program.end(self._order.workload.workload.timeout)
        problem = self._counted_program.conclude(launcher_result)
        launch = self._counted_program.launch
        if launch.ending is not None and not launch.ending.status:
            # It succeeded, probably because it went into the background as a daemon.
            daemon_clause = f", while {launch.outlived} went on" if launch.outlived else ""
            problem = f"ended{daemon_clause}: it must stay in the foreground, so look for an option that keeps it there"
        program_result = self._counted_program.make_program_result(launcher_result)
        raise_on_failure(self._bound_server.command, f"{problem} ({phase})", program_result, self._group)

    def _kill_server(self, problem: str) -> ExecutionFailure:
        """Kill the server because it exceeded a time limit, and return the failure with the server's output."""
        launcher_result = self._program.end()
        self._counted_program.launch.finish()
        try:  # raise_on_failure always raises, because the problem is not empty.
            raise_on_failure(self._bound_server.command, problem, launcher_result, self._group)
        except ExecutionFailure as failure:
            failure.was_stopped = True
            return failure
        raise AssertionError(problem)

    def _is_expected_exit_status(self, status: int) -> bool:
        """Return whether a server that was asked to stop exited as expected.

        Expected are the status 0, the stop signal, and 128 plus the number of this signal, as shells report it.
        """
        signal_number = signal.Signals[self._server.stop_signal]
        return status in {0, -signal_number, 128 + signal_number}

    def _make_sample(self) -> Sample:
        """Return the sample of the measured windows; raise if perf lost a part of the server."""
        whole_life, _ = self._counted_program.stop_counting()
        ending = self._counted_program.launch.ending
        assert ending is not None
        # A server that was ended by a signal has not waited for its children, so its account may lack their faults.
        kernel_faults = max(ending.faults, count_group_faults(self._group.folder))
        faults = sum(whole_life[name].value or 0 for name in ("minor-faults", "major-faults"))
        if problem := explain_miscount(faults, kernel_faults, self._counted_program.lost):
            raise ExecutionFailure(f"`{shlex.join(self._bound_server.command)}` {problem}", stage=Stage.MEASURE)
        readings = combine_windows([window for window in self.windows if not window.is_warm_up])
        readings |= {"max-rss": Reading(value=ending.max_rss), **derive_sys_percent(readings)}
        return Sample(readings=readings, windows=tuple(self.windows))


@contextmanager
def start_server(order: ServerOrder) -> Iterator[ServerExecution]:
    """Start a server, and yield it before it is ready. At the end of the context, it is killed if it still runs.

    Raises
    ------
    ExecutionFailure
        The program does not exist.
    FaultwatchError
        perf or the sandbox is missing or forbidden.
    """
    state = order.state
    with ExitStack() as stack:
        resources = stack.enter_context(provide_resources(order.directory, order.sandbox))
        bound_server = bind_server(order.workload, order.case, resources)
        path, missing_reason = _find_program(
            bound_server.command[0], order.directory, state.environment["PATH"], order.sandbox
        )
        if missing_reason:
            raise ExecutionFailure(missing_reason)
        log_command(bound_server.command, order.directory, "as a server")
        channel = stack.enter_context(LoadCommands())
        supported_events, _ = split_known_events(order.workload.metrics.events)
        stack.enter_context(allow_processors(state.cpus | order.load_cpus))
        group = stack.enter_context(state.apply())
        # Limit only the server: the load is not in the group. If this is impossible, the launcher's limits remain.
        group.limit_processes(MAX_TASKS)
        counted_program = CountedProgram(
            CountingOrder(
                bound_server.command,
                path,
                order.directory,
                state.environment,
                (*ATTACHED_EVENTS, *supported_events),
                region=False,
                sandbox=order.sandbox,
                recording=order.recording,
                copies=order.copies,
                load_commands=channel,
            ),
            SimultaneousStart(1),
            group,
            stack,
        )
        background_program = stack.enter_context(BackgroundProgram(counted_program.create_program(), order.directory))
        # Keep the runner and its perf processes off the server's processors.
        if order.load_cpus:
            os.sched_setaffinity(0, order.load_cpus)
        yield ServerExecution(
            order, bound_server, resources, RunningServer(counted_program, background_program, channel, group)
        )


def _find_program(program: str, directory: Path, path: str, sandbox: Sandbox | None) -> tuple[str, str]:
    """Return the path to execute and an empty text, or an empty path and the reason.

    Like :func:`resolve_program`, but only files that the sandbox shows are considered.
    """

    def is_visible(file: Path) -> bool:
        return sandbox is None or sandbox.is_visible_in_tree(directory, file)

    return resolve_program(program, directory, path, is_visible)
