"""Controls the launcher (``launcher.c``), from the waiting process to the end of the program."""

import ctypes
import os
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from msgspec import Struct, field

from runner.execution.resource_limits import get_program_limits

CREDENTIALS = struct.Struct("iii")
"""The credentials of a message's sender, from the kernel: process, user and group in the receiver's namespaces."""
_MAX_MESSAGE_BYTES = 1000
"""The largest number of bytes that are read of a message from the launcher."""
_QUERY_PERSONALITY = 0xFFFFFFFF
"""The argument with which ``personality`` returns the personality without changing it."""
_MAX_LAUNCHER_ROUNDS = 2
"""How many times the launcher reports that it is ready. The first time only serves to touch its pages."""
GO_ON = b"g"
"""The answer for which the launcher waits before it continues; any byte would do."""
_NUMBER = re.compile("[0-9]{1,18}", re.ASCII)
"""A number in a message of the launcher. With 18 digits, it fits into 64 bits."""
_MAX_STATUS = 0xFFFF
"""The largest status that ``waitpid`` returns: an exit code and a signal of 8 bits each."""
_PROTOCOL_ERROR = "the launcher sent a malformed message"


class Ending(Struct, frozen=True):
    """How a program ended, and the kernel's accounting of it and of the children that it waited for.

    Attributes
    ----------
    status
        The exit code of the program, or the negative number of the signal that ended it.
    user, system, elapsed
        The time in user space, in the kernel, and from start to end, in seconds.
    max_rss
        The largest resident set, in bytes.
    faults
        Minor and major faults since the program was executed, including those that the kernel took to prepare memory,
        and those of processes that the program left behind.
    """

    status: int
    user: float
    system: float
    max_rss: int
    elapsed: float
    faults: int


class Confinement(Struct, frozen=True):
    """The limits of a program: its number of processes, the bytes of a file and of a process, its user and its group.

    The user and the group are -1 for those of the runner.
    """

    processes: int
    file_bytes: int
    data_bytes: int
    user: int = -1
    group: int = -1


class SimultaneousStart(Struct):
    """Starts several programs at the same time, as soon as each of them waits and has its counters attached."""

    launch_count: int
    _waiting_launches: list["Launch"] = field(default_factory=list)

    def wait(self, launch: "Launch") -> None:
        """Make a launch wait for the others; the call for the last one starts all of them."""
        self._waiting_launches.append(launch)
        if len(self._waiting_launches) == self.launch_count:
            for waiting_launch in self._waiting_launches:
                waiting_launch.start_program()

    def cancel(self) -> None:
        """Cancel the start of all programs, because one of them cannot be started."""
        self.launch_count = 0  # so that no later call of :meth:`wait` starts a program
        for waiting_launch in self._waiting_launches:
            waiting_launch.close()


class Launch:
    """One start of a program by the launcher; a companion of the launcher.

    Attributes
    ----------
    program
        The process that becomes the program; None until it exists.
    ending
        How the program ended; None until then.
    refusal
        Why the program could not be started; empty if it was started.
    outlived
        The names of the processes that kept running 250 ms after the program had ended (``PATIENCE`` in
        ``launcher.c``); empty if none did.
    """

    def __init__(self, start: SimultaneousStart, attach_counters: Callable[[int], None] = lambda _: None) -> None:
        """Open the channel to a launcher.

        Parameters
        ----------
        attach_counters
            Called with the process that becomes the program, as soon as it exists and waits.
        """
        self.program: int | None = None
        self.ending: Ending | None = None
        self.refusal = ""
        self.outlived = ""
        self._start = start
        self._attach_tools = attach_counters
        self._n_rounds = 0
        self._faults_before = 0
        self._started_at = 0
        self._channel, self._launcher_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._channel.setblocking(False)
        self._is_finishing = False

    def build_command_line(
        self,
        launcher: str,
        path: str,
        command: Sequence[str],
        variables: Mapping[str, str],
        confinement: Confinement | None = None,
        *,
        copies: Mapping[str, Path] = MappingProxyType({}),
        orders_descriptor: int = -1,
    ) -> list[str]:
        """Return the command line of the launcher. The caller must be in the process state that the program gets.

        Parameters
        ----------
        launcher
            The file of the launcher.
        path
            The file of the program.
        command
            The command line of the program.
        variables
            The environment variables of the program.
        confinement
            The limits of the program; None if it is not confined.
        copies
            The copies to mount over files, by the path of the original. Only root can mount them.
        orders_descriptor
            The descriptor over which the launcher is told to start further commands
            (:mod:`runner.execution.load_commands`); -1 if there are none.
        """
        personality = ctypes.CDLL(None).personality(_QUERY_PERSONALITY)
        # A limit of 0 processes tells the launcher not to confine the program.
        applied_confinement = confinement or Confinement(processes=0, file_bytes=0, data_bytes=0)
        confinement_numbers = (
            applied_confinement.user,
            applied_confinement.group,
            applied_confinement.processes,
            applied_confinement.file_bytes,
            applied_confinement.data_bytes,
        )
        environment = [f"{name}={value}" for name, value in variables.items()]
        resource_limits = ",".join(f"{number},{soft},{hard}" for number, soft, hard in get_program_limits().values())
        channels = str(self._launcher_end.fileno()), str(orders_descriptor)
        fixed_words = [launcher, *channels, str(personality), resource_limits, *map(str, confinement_numbers)]
        mounts = [word for file, copy in copies.items() for word in (str(copy), file)]
        return [*fixed_words, str(len(environment)), str(len(copies)), *environment, *mounts, path, *command]

    @property
    def is_started(self) -> bool:
        """Whether the program has been started."""
        return self._started_at > 0

    @property
    def descriptors(self) -> tuple[int]:
        """The descriptors for the launcher to inherit."""
        return (self._launcher_end.fileno(),)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the launcher has sent something."""
        return self._channel.fileno()

    def serve(self, _pid: int) -> bool:
        """Answer the launcher; return whether it can send more. What ``attach_counters`` raises is passed on."""
        # The launcher has its own copy now. While this copy is open, the channel never signals the launcher's end.
        self._launcher_end.close()
        try:
            message, control, _, _ = self._channel.recvmsg(_MAX_MESSAGE_BYTES, socket.CMSG_SPACE(CREDENTIALS.size))
        except BlockingIOError:
            return True
        except OSError:
            return False
        fields = message.decode(errors="replace").split()
        if fields[:1] == ["ready"] and self._started_at == 0 and not self._is_finishing:
            # The only control message consists of a level, a type, and the credentials of the sender, which is the
            # process that becomes the program.
            program, _, _ = CREDENTIALS.unpack(control[0][2])
            self._answer_ready_message(program, fields[1:])
        elif fields[:1] == ["ended"]:
            self._store_account(fields[1:])
        elif fields[:1] == ["outlived"]:
            names = "".join(char if char.isprintable() else "?" for char in " ".join(fields[1:]))
            self.outlived = ", ".join(dict.fromkeys(names.split(", ")))
        elif fields[:1] == ["refused"]:
            self.refusal = " ".join(fields[1:])
        if not message and self._started_at == 0:  # The launcher has ended before it started the program.
            self._start.cancel()
        return bool(message)

    def start_program(self) -> None:
        """Start the program."""
        self._started_at = time.monotonic_ns()
        with suppress(OSError):  # The launcher may have ended, which :meth:`serve` notices.
            self._channel.send(GO_ON)

    def finish(self) -> None:
        """Read the last messages of the launcher, which has ended.

        A program that was killed just as it became ready is no longer prepared: there is no process to attach to.
        """
        self._is_finishing = True
        while self.serve(0) and self.ending is None and self._has_unread_messages():
            pass  # ``serve`` reads one message; its argument is not used.

    def describe_outliving_processes(self) -> str:
        """Return which processes of the program kept running, as the predicate of a sentence; empty if none did."""
        return f"ended, but processes that it started kept running: {self.outlived}" if self.outlived else ""

    def close(self) -> None:
        """Close the channel. A program that still waits is then never started."""
        self._launcher_end.close()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer_ready_message(self, pid: int, fields: Sequence[str]) -> None:
        """Answer the message that the program is ready to start; in the last round, attach the counters instead.

        The program then starts together with the others. After a malformed message or too many rounds, no program is
        started.
        """
        self._n_rounds += 1
        numbers = _parse_numbers(fields, count=1)
        if numbers is None or self._n_rounds > _MAX_LAUNCHER_ROUNDS:
            self.refusal = _PROTOCOL_ERROR
            self._start.cancel()
            self.close()
            return
        (self._faults_before,) = numbers
        if self._n_rounds < _MAX_LAUNCHER_ROUNDS:
            self._channel.send(GO_ON)
            return
        self.program = pid
        try:
            self._attach_tools(pid)
        except BaseException:
            self._start.cancel()
            self.close()
            raise
        self._start.wait(self)

    def _store_account(self, fields: Sequence[str]) -> None:
        """Store the program's exit status and resource usage, as the launcher reports them.

        After a second or an implausible report, none is used: unless the runner is root, the program runs as the same
        user as the launcher, and could forge its messages.
        """
        numbers = _parse_numbers(fields, count=6)
        if numbers is None or self.ending is not None or not _is_plausible_account(numbers, self._faults_before):
            self.ending, self.refusal = None, _PROTOCOL_ERROR
            return
        # The launcher sends microseconds of CPU time, KiB of memory, and nanoseconds of the monotonic clock.
        status, user, system, max_rss, end, faults = numbers
        self.ending = Ending(
            status=os.waitstatus_to_exitcode(status),
            user=user / 1e6,
            system=system / 1e6,
            max_rss=max_rss * 1024,
            elapsed=max(0, end - self._started_at) / 1e9,
            faults=faults - self._faults_before,
        )

    def _has_unread_messages(self) -> bool:
        """Return whether the launcher has sent a message that has not been read."""
        try:
            return bool(self._channel.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


def _parse_numbers(fields: Sequence[str], count: int) -> list[int] | None:
    """Return the fields of a message as numbers; None if their count is wrong or a field is not a number."""
    if len(fields) != count or not all(_NUMBER.fullmatch(field) for field in fields):
        return None
    return list(map(int, fields))


def _is_plausible_account(numbers: Sequence[int], faults_before: int) -> bool:
    """Return whether the account of an end is plausible: its status, its time and its number of faults."""
    status, _, _, _, end, faults = numbers
    has_valid_status = status <= _MAX_STATUS and (os.WIFEXITED(status) or os.WIFSIGNALED(status))
    return has_valid_status and end <= time.monotonic_ns() and faults >= faults_before


def resolve_program(
    program: str, directory: Path, path: str, is_visible: Callable[[Path], bool] = lambda _: True
) -> tuple[str, str]:
    """Find the file to execute for the first word of a command, as ``execvp`` does.

    Parameters
    ----------
    is_visible
        Returns whether the program will see a file. Files that it will not see are treated as missing, so that an
        untrusted author cannot learn from the reason whether they exist.

    Returns
    -------
    tuple
        The path to execute and an empty text, or an empty path and the reason.
    """
    # An empty folder of the PATH means the current one.
    names = [program] if "/" in program else [f"{folder or '.'}/{program}" for folder in path.split(":")]
    # Unlike Path.is_file, isfile passes over folders that this user may not search.
    files = [name for name in names if is_visible(directory / name) and os.path.isfile(directory / name)]  # noqa: PTH113
    for name in files:
        if os.access(directory / name, os.X_OK):
            return name, ""
    if files:
        return "", f"{program!r} is not executable"
    reasons = "the build of this revision may not create it, the sandbox may hide it"
    if "/" in program:
        return "", f"the command {program!r} was not found: {reasons}, or its name may be misspelt"
    # The PATH is last, because it can be so long that the message is cut off.
    return "", (
        f"the command {program!r} was not found: {reasons}, its name may be misspelt, or it may not be installed in "
        f"the folders of PATH, {path}"
    )
