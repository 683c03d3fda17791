"""Starts programs so that all their descendants end with them, and with the runner, even if the runner is killed.

A small C program (``supervisor.c``) starts the program and adopts all orphaned processes, even those in other sessions.
A socket connects it with the runner. When the runner is killed, the kernel closes the socket.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from runner.execution.wait_for_child import wait_for_child

_END_TIMEOUT_SECONDS = 12.0
"""Seconds to wait for a supervisor to end all processes; a little more than its own limit."""


class SupervisedProcess:
    """A program in its own session, with a supervisor if this host can compile it.

    Attributes
    ----------
    pid
        The process that was started: the supervisor, or without one the program itself.
    status
        The exit code of the program, or the negative number of the signal that ended it; None while it runs, and if
        :meth:`end` killed it.
    """

    def __init__(self, popen: subprocess.Popen[bytes], channel: socket.socket | None) -> None:
        self._popen = popen
        self._channel = channel
        self.pid = popen.pid
        self.status: int | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        supervisor: Path | None,
        directory: Path,
        environment: Mapping[str, str],
        merge_streams: bool,
        inherited_descriptors: Sequence[int],
    ) -> Self:
        """Start a program without standard input.

        Parameters
        ----------
        supervisor
            The compiled supervisor; None for none.
        merge_streams
            Whether standard error is added to the output.

        Raises
        ------
        OSError
            The program cannot be executed.
        """
        options: dict[str, Any] = {
            "cwd": directory,
            "env": dict(environment),
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT if merge_streams else subprocess.PIPE,
            "start_new_session": True,
        }
        if supervisor is None:
            return cls(subprocess.Popen(command, pass_fds=inherited_descriptors, **options), None)
        channel, supervisor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            words = [str(supervisor), str(supervisor_end.fileno()), *command]
            process = cls(
                subprocess.Popen(words, pass_fds=[*inherited_descriptors, supervisor_end.fileno()], **options), channel
            )
        except BaseException:
            channel.close()
            raise
        finally:
            supervisor_end.close()
        return process

    @property
    def streams(self) -> list[IO[bytes]]:
        """The output streams of the process."""
        return [stream for stream in (self._popen.stdout, self._popen.stderr) if stream]

    def has_ended(self) -> bool:
        """Return whether the process has ended; a supervisor ends after all descendants of the program."""
        return self._popen.poll() is not None

    def wait(self, seconds: float) -> None:
        """Wait for the process to end, at most for some seconds."""
        wait_for_child(self._popen, seconds)

    def end(self) -> None:
        """Kill the process and all its descendants unless it has ended; store its status.

        Raises
        ------
        OSError
            The supervisor could not execute the program.
        """
        has_ended = self.has_ended()
        message = self._read_final_message() if has_ended else []
        # A supervisor whose channel is closed kills the remaining processes, and ends.
        if self._channel:
            self._channel.close()
            self._channel = None
            wait_for_child(self._popen, _END_TIMEOUT_SECONDS)
        # Without a supervisor, or if it was killed, processes of the session may remain.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._popen.wait()
        match message:
            case ["ended", status]:
                self.status = os.waitstatus_to_exitcode(int(status))
            case ["failed", error_number]:  # Behind the supervisor and its channel, word 2 is the program.
                raise OSError(int(error_number), os.strerror(int(error_number)), self._popen.args[2])  # type: ignore[index]
            case _ if has_ended:  # The process was the program itself, or the supervisor was killed.
                self.status = code

    def _read_final_message(self) -> list[str]:
        """Return the words of the only message that the supervisor sends, before it ends; empty if there is none."""
        if self._channel is None:
            return []
        self._channel.setblocking(False)
        with suppress(OSError):
            return self._channel.recv(100).decode(errors="replace").split()
        return []
