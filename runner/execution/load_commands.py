"""Runs commands beside a launched server: those that fill it, load it and stop it.

The launcher (``launcher.c``) starts the commands, so they see what the server sees: its network (in a sandbox, only
the loopback interface), its ``/tmp`` and its tree. They are confined as the server is, run on processors of their own,
and are not counted.
"""

import array
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from msgspec import Struct

from runner.execution.background_program import BackgroundProgram
from runner.execution.execute import MAX_OUTPUT_BYTES, TIMEOUT_WORDS, get_signal_name
from runner.execution.launcher import CREDENTIALS, GO_ON

_MAX_ORDER_BYTES = 190_000
"""The largest number of bytes of a command with its variables; the buffer in ``launcher.c`` is slightly larger."""
_MAX_ANSWER_BYTES = 200
"""More than the launcher's answer has, which is "done", an exit status, and a number of nanoseconds."""
_MAX_KILL_SECONDS = 5
"""Seconds to wait for the end of a command that was killed."""
_LAST_OUTPUT_SECONDS = 0.2
"""Seconds to wait for the end of the output: a background process of the command can keep it open."""
_READ_BYTES = 65_536
"""Bytes that are read from a stream at once: the capacity of a pipe."""


class CommandResult(Struct, frozen=True):
    """How a command ended.

    Attributes
    ----------
    problem
        Why the command failed, as the predicate of a sentence; empty if it succeeded.
    output, error
        The end of its standard output and of its standard error.
    seconds
        The time from its start to its end.
    timed_out
        Whether it was ended at its deadline.
    """

    problem: str
    output: str
    error: str
    seconds: float
    timed_out: bool = False


class LoadCommands:
    """The channel over which a launcher is told to start commands; a companion of the launcher."""

    def __init__(self) -> None:
        self._channel, self._launcher_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setblocking(False)
        self._end_status: tuple[int, float] | None = None

    @property
    def launcher_descriptor(self) -> int:
        """The launcher's end of the channel."""
        return self._launcher_end.fileno()

    @property
    def descriptors(self) -> tuple[int]:
        """The descriptors for the launcher to inherit."""
        return (self._launcher_end.fileno(),)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a command has ended."""
        return self._channel.fileno()

    def serve(self, _pid: int) -> bool:
        """Read how a command has ended; return whether the launcher can send more."""
        try:
            fields = self._channel.recv(_MAX_ANSWER_BYTES).decode(errors="replace").split()
        except BlockingIOError:
            return True
        except OSError:
            return False
        match fields:
            case ["done", status, nanoseconds] if status.isdecimal() and nanoseconds.isdecimal():
                self._end_status = int(status), int(nanoseconds) / 1e9
        return bool(fields)

    def run(
        self,
        command: Sequence[str],
        path: str,
        variables: Mapping[str, str],
        program: BackgroundProgram,
        *,
        cpus: frozenset[int] = frozenset(),
        deadline: float,
        seal: Callable[[int], None] = lambda _: None,
    ) -> CommandResult:
        """Run a command beside a program, and return how it ended; kill it at the deadline or when the program ends.

        Parameters
        ----------
        path
            The file to execute.
        variables
            The environment of the command.
        program
            The launcher of the program beside which the command runs; its companions are served meanwhile.
        cpus
            The processors to run it on; empty for those of the launcher.
        deadline
            The time of the monotonic clock at which it is killed, in seconds.
        seal
            Called with the process that becomes the command before it is executed.
        """
        self._end_status = None
        started_at = time.monotonic()
        with _Streams(seal) as streams:
            # An order consists of "start", the processors, the number of variables, these, the file, and the command.
            fields = [",".join(map(str, sorted(cpus))), str(len(variables))]
            fields += [f"{name}={value}" for name, value in variables.items()]
            order = b"".join(os.fsencode(field) + b"\0" for field in ("start", *fields, path, *command))
            if len(order) > _MAX_ORDER_BYTES:
                return CommandResult(f"is longer than {_MAX_ORDER_BYTES:,} bytes", "", "", 0.0)
            rights = array.array("i", streams.descriptors)
            try:
                self._channel.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            except OSError:
                return CommandResult("could not be started: the launcher has ended", "", "", 0.0)
            streams.close_sent_descriptors()
            for stream in streams.companions:
                program.add_companion(stream)
            try:
                command_has_ended = program.wait_until(lambda: self._end_status is not None, deadline)
                if not command_has_ended:
                    self._kill_command(program)
                # Read what the command printed last.
                program.wait_until(
                    lambda: all(stream.is_at_end for stream in streams.outputs),
                    time.monotonic() + _LAST_OUTPUT_SECONDS,
                )
            finally:
                for stream in streams.companions:
                    program.remove_companion(stream)
            output, error = (stream.text for stream in streams.outputs)
        if not command_has_ended or self._end_status is None:
            limit_seconds = deadline - started_at
            problem = f"{TIMEOUT_WORDS} {limit_seconds:.0f} s"
            if program.has_ended:
                problem = "was stopped because the server ended"
            return CommandResult(problem, output, error, time.monotonic() - started_at, timed_out=not program.has_ended)
        status = os.waitstatus_to_exitcode(self._end_status[0])
        problem = f"was terminated by {get_signal_name(-status)}" if status < 0 else f"ended with exit code {status}"
        return CommandResult(problem if status else "", output, error, self._end_status[1])

    def close(self) -> None:
        """Close the channel; a command that still runs is killed."""
        self._channel.close()
        self._launcher_end.close()

    def _kill_command(self, program: BackgroundProgram) -> None:
        """Tell the launcher to kill the running command, and wait until it reports the command's end."""
        try:
            self._channel.send(b"kill\0")
        except OSError:
            return  # The launcher has ended, so the command's end is not reported.
        program.wait_until(lambda: self._end_status is not None, time.monotonic() + _MAX_KILL_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _OutputStream:
    """One output stream of a command: a companion that keeps the last bytes written."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        self._tail = bytearray()
        self.is_at_end = False

    @property
    def descriptors(self) -> tuple[int, ...]:
        return ()

    @property
    def text(self) -> str:
        return bytes(self._tail).decode(errors="replace")

    def fileno(self) -> int:
        return self._reader

    def serve(self, _pid: int) -> bool:
        """Keep what the command has written; return whether more can come."""
        data = os.read(self._reader, _READ_BYTES)
        self._tail += data
        del self._tail[:-MAX_OUTPUT_BYTES]
        self.is_at_end = not data
        return bool(data)


class _Seal:
    """The socket over which a command waits until its sandbox is sealed, so that it can create no user namespaces."""

    def __init__(self, seal: Callable[[int], None]) -> None:
        self._seal = seal
        self._runner_end, self.command_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._runner_end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    @property
    def descriptors(self) -> tuple[int, ...]:
        return ()

    def fileno(self) -> int:
        return self._runner_end.fileno()

    def serve(self, _pid: int) -> bool:
        """Seal the sandbox of the message's sender, which becomes the command, and let it continue.

        Return False, because no more messages can come.
        """
        # The text of the message is short, and does not matter.
        message, control, _, _ = self._runner_end.recvmsg(100, socket.CMSG_SPACE(CREDENTIALS.size))
        if message:
            # The only control message consists of a level, a type, and the sender's credentials.
            command, _, _ = CREDENTIALS.unpack(control[0][2])
            self._seal(command)
            self._runner_end.send(GO_ON)
        return False

    def close(self) -> None:
        self._runner_end.close()
        self.command_end.close()


class _Streams:
    """The descriptors of one command."""

    def __init__(self, seal: Callable[[int], None]) -> None:
        self.outputs = (_OutputStream(), _OutputStream())
        self._seal = _Seal(seal)
        self._unsent_descriptors = [stream.writer for stream in self.outputs]

    @property
    def companions(self) -> tuple[_OutputStream | _Seal, ...]:
        return (*self.outputs, self._seal)

    @property
    def descriptors(self) -> list[int]:
        """The descriptors that are sent to the launcher, in the order that it expects."""
        return [*self._unsent_descriptors, self._seal.command_end.fileno()]

    def close_sent_descriptors(self) -> None:
        """Close the descriptors that were sent, of which the launcher has its own copies."""
        while self._unsent_descriptors:
            os.close(self._unsent_descriptors.pop())
        self._seal.command_end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sent_descriptors()
        self._seal.close()
        for stream in self.outputs:
            os.close(stream.fileno())
