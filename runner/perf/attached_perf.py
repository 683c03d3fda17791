"""Attaches perf to running processes with disabled counters, and enables and disables them on command."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from runner.contract.report import Reading, Status
from runner.execution.execution_log import log_command
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.wait_for_child import wait_for_child
from runner.perf.counted_events import LOCK_WAIT_EVENT, SEPARATOR
from runner.perf.parse import PerfOutputError, parse_csv
from runner.perf.perf_binary import get_perf_program

_TIMEOUT_SECONDS = 60.0
"""Seconds within which perf must attach and acknowledge a command."""
_KERNEL_ONLY_EVENTS = frozenset({"context-switches", "cpu-migrations", "cgroup-switches", LOCK_WAIT_EVENT})
"""Events that happen only in the kernel: perf counts 0 of them if it may count only in user space."""
_KERNEL_ONLY_REASON = "it happens in the kernel, where this user is not allowed to count events"
_MAX_MESSAGE_CHARACTERS = 300


class AttachError(Exception):
    """perf could not attach or did not answer; the message says why."""


class ControlledPerf:
    """A process of perf that is attached to processes and their future children, and does nothing before ``enable``."""

    def __init__(
        self,
        arguments: Sequence[str],
        processes: Sequence[int],
        inherited_descriptors: Sequence[int] = (),
        *,
        prefix: Sequence[str] = (),
        before_execution: Callable[[], None] | None = None,
        are_threads: bool = False,
    ) -> None:
        """Start perf.

        Parameters
        ----------
        arguments
            The subcommand of perf and its options.
        processes
            The processes to attach to; if empty, perf observes the whole host.
        are_threads
            Whether ``processes`` contains thread ids. perf then attaches to these threads and the threads that they
            start, but not to the other threads of their processes.
        inherited_descriptors
            Descriptors for perf to inherit, which are closed when it ends.
        prefix
            Words before the command of perf: a program that finally becomes perf by ``exec``.
        before_execution
            Called in the new process before it becomes perf.
        """
        self._is_stopped = False
        self._descriptors = list(inherited_descriptors)
        try:
            self._stderr = self._keep_descriptor(os.memfd_create("perf-stderr"))
            control, self._to_perf = map(self._keep_descriptor, os.pipe())
            self._from_perf, ack = map(self._keep_descriptor, os.pipe())
            command = [*prefix, get_perf_program(), *arguments]
            command += ["-D", "-1", "--control", f"fd:{control},{ack}"]  # -D -1 starts with disabled counters.
            if processes:
                command += ["-t" if are_threads else "-p", ",".join(map(str, processes))]
            else:
                command.append("-a")
            log_command(command)
            self._perf = subprocess.Popen(
                command,
                env=dict(BASE_VARIABLES),  # The program's variables could preload a library into perf.
                pass_fds=(control, ack, *inherited_descriptors),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                preexec_fn=before_execution,  # noqa: PLW1509 - it may only make system calls
            )
        except BaseException:
            self._close_descriptors()
            raise
        for descriptor in (control, ack):
            self._descriptors.remove(descriptor)
            os.close(descriptor)

    def send_command(self, command: str) -> None:
        """Send a command, ``enable`` or ``disable``, and wait until perf acknowledges it.

        Raises
        ------
        AttachError
            perf could not attach, or does not answer.
        """
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        answer = b""
        with suppress(BrokenPipeError):
            os.write(self._to_perf, command.encode() + b"\n")
        with selectors.DefaultSelector() as selector:
            selector.register(self._from_perf, selectors.EVENT_READ)
            while b"\n" not in answer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise AttachError(f"perf did not acknowledge the command within {_TIMEOUT_SECONDS:g} s")
                # Some versions send a NUL after the line; it arrives with the next answer.
                chunk = os.read(self._from_perf, 16)
                if not chunk:
                    lines = (text.strip() for text in _read_text(self._stderr).split("\n"))
                    # Take the first line with a message: perf may print "Error:" and an empty line above it.
                    line = next((text for text in lines if text.strip(":") not in {"", "Error"}), "it printed nothing")
                    raise AttachError(f"perf could not attach to the program: {line[:_MAX_MESSAGE_CHARACTERS]}")
                answer += chunk

    def stop(self) -> None:
        """Tell perf to write its results, without waiting. Otherwise it may notice a program's end a second later."""
        if not self._is_stopped:
            self._is_stopped = True
            self._perf.send_signal(signal.SIGINT)

    def end(self, timeout: float = 5) -> None:
        """Tell perf to write its results, and wait for it to end; after ``timeout`` seconds, kill it."""
        self.stop()
        if not wait_for_child(self._perf, timeout):
            self._perf.kill()
            wait_for_child(self._perf, timeout)

    def close(self) -> None:
        """Kill perf if it still runs, and close the pipes."""
        if self._perf.poll() is None:
            self._perf.kill()
            self._perf.wait()
        self._close_descriptors()

    @property
    def pid(self) -> int:
        """The process of perf."""
        return self._perf.pid

    def _keep_descriptor(self, descriptor: int) -> int:
        """Add a descriptor to those that are closed at the end, and return it."""
        self._descriptors.append(descriptor)
        return descriptor

    def _close_descriptors(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())


class AttachedPerf(ControlledPerf):
    """An attached perf stat: it counts ``events``, and of each tracepoint in ``filters`` what its filter selects."""

    def __init__(
        self, processes: Sequence[int], events: Sequence[str], filters: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Attach perf stat.

        Parameters
        ----------
        filters
            Further events, of which only those that match an expression are counted: the expression by event.
        """
        self._events = (*events, *filters)
        self._output = os.memfd_create("perf-stat")
        arguments = ["stat", "-x", SEPARATOR, "--log-fd", str(self._output), "-e", ",".join(events)]
        for event, expression in filters.items():
            arguments += ["-e", event, "--filter", expression]
        super().__init__(arguments, processes, [self._output])

    def read_output(self) -> str:
        """Return the output of perf; call it before :meth:`close`."""
        return _read_text(self._output)

    def read_readings(self) -> dict[str, Reading]:
        """Return the readings. If perf may count only in user space, events in the kernel are not supported.

        Raises
        ------
        PerfOutputError
            perf wrote nothing, or its output cannot be parsed.
        """
        text = self.read_output()
        if not text.strip():
            raise PerfOutputError("perf wrote nothing")
        # The counters were enabled one after the other, while the program may have been running.
        result = parse_csv(text, SEPARATOR, requested_events=self._events, started_together=False)
        unsupported_reading = Reading(status=Status.NOT_SUPPORTED, reason=_KERNEL_ONLY_REASON)
        return result.readings | dict.fromkeys(_KERNEL_ONLY_EVENTS & result.in_user_space, unsupported_reading)


def _read_text(file: int) -> str:
    """Return the whole content of a memory file, regardless of its current offset."""
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
