"""Talk with the launcher (``launch.c``): from the process that will become the program to what became of it."""

import ctypes
import os
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

_CREDENTIALS = struct.Struct("iii")
"""What the kernel itself says about a sender: process, user and group, as seen from the receiver's namespaces."""
_ASK_PERSONALITY = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of the program, as the kernel accounts it: seconds, and bytes of memory.

    ``status`` is its exit code, or the negative number of the signal that ended it.
    """

    status: int
    user: float
    system: float
    max_rss: int
    elapsed: float


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a program is held to: who it is, how many processes, and bytes of a file and of a process's own data."""

    processes: int
    file_bytes: int
    data_bytes: int
    user: int = -1
    group: int = -1


@dataclass(slots=True)
class Start:
    """The moment at which programs begin: when each of them is there, counted and waiting."""

    number: int
    _waiting: list["Launch"] = field(default_factory=list)

    def wait(self, launch: "Launch") -> None:
        """Let one wait for the others; the last one lets all of them go."""
        self._waiting.append(launch)
        if len(self._waiting) == self.number:
            for one in self._waiting:
                one.go()

    def give_up(self) -> None:
        """Let nobody go: one of them cannot be started."""
        self.number = 0
        for one in self._waiting:
            one.close()


class Launch:
    """One launch: a companion of the launcher.

    Attributes
    ----------
    program
        The process that becomes the program, once it is there.
    ending
        What became of it, once it has ended.
    refusal
        Why it could not be started.
    """

    def __init__(self, start: Start, prepare: Callable[[int], None] = lambda _: None) -> None:
        self.program: int | None = None
        self.ending: Ending | None = None
        self.refusal = ""
        self._start = start
        self._prepare = prepare
        self._asked = 0
        self._went = 0
        self._channel, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._channel.setblocking(False)

    def words(
        self,
        launcher: str,
        path: str,
        command: Sequence[str],
        variables: Mapping[str, str],
        confinement: Confinement | None = None,
        *,
        copies: Mapping[str, Path] = MappingProxyType({}),
    ) -> list[str]:
        """Return the command line of the launcher. Asked for in the state in which the program is to start.

        Parameters
        ----------
        copies
            What the program is to find in place of files, by the files' paths. Only root can have that done.
        """
        personality = ctypes.CDLL(None).personality(_ASK_PERSONALITY)
        held = confinement or Confinement(0, 0, 0)
        numbers = (held.user, held.group, held.processes, held.file_bytes, held.data_bytes)
        environment = [f"{name}={value}" for name, value in variables.items()]
        head = [launcher, str(self._theirs.fileno()), str(personality), *map(str, numbers)]
        laid = [word for file, copy in copies.items() for word in (str(copy), file)]
        return [*head, str(len(environment)), str(len(copies)), *environment, *laid, path, *command]

    @property
    def descriptors(self) -> tuple[int]:
        """What the launcher must inherit."""
        return (self._theirs.fileno(),)

    def fileno(self) -> int:
        """Return the descriptor that is readable when the launcher has something to say."""
        return self._channel.fileno()

    def serve(self, _pid: int) -> bool:
        """Answer the launcher; return whether it can say more."""
        # The launcher has its own by now; while this one is open, its end would not be noticed.
        self._theirs.close()
        try:
            message, control, _, _ = self._channel.recvmsg(1000, socket.CMSG_SPACE(_CREDENTIALS.size))
        except BlockingIOError:
            return True
        except OSError:
            return False
        words = message.decode(errors="replace").split()
        if words == ["ready"] and self._went == 0:
            self._ready(_CREDENTIALS.unpack(control[0][2])[0])
        elif words[:1] == ["ended"]:
            self._end(words[1:])
        elif words[:1] == ["refused"]:
            self.refusal = " ".join(words[1:])
        if not message and self._went == 0:
            self._start.give_up()
        return bool(message)

    def go(self) -> None:
        """Let the program begin."""
        self._went = time.monotonic_ns()
        with suppress(OSError):
            self._channel.send(b"g")

    def finish(self) -> None:
        """Take what the launcher said last."""
        while self.serve(0) and self.ending is None and self._unread():
            pass

    def close(self) -> None:
        """Hang up: a program that still waits then never begins."""
        self._theirs.close()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self, pid: int) -> None:
        self._asked += 1
        if self._asked == 1:  # The round that only touches the launcher's pages.
            self._channel.send(b"w")
            return
        self.program = pid
        try:
            self._prepare(pid)
        except BaseException:
            self._start.give_up()
            self.close()
            raise
        self._start.wait(self)

    def _end(self, words: Sequence[str]) -> None:
        try:
            status, user, system, max_rss, end = (min(int(word), 2**62) for word in words)
            self.ending = Ending(
                status=os.waitstatus_to_exitcode(status),
                user=user / 1e6,
                system=system / 1e6,
                max_rss=max_rss * 1024,
                elapsed=max(0, end - self._went) / 1e9,
            )
        except ValueError:
            self.refusal = "the launcher said what it never says"

    def _unread(self) -> bool:
        try:
            return bool(self._channel.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


def resolve(program: str, directory: Path, path: str) -> tuple[str, str]:
    """Find what to execute for the first word of a command, as ``execvp`` would.

    Returns
    -------
    tuple
        The path to execute and nothing, or nothing and why there is none.
    """
    names = [program] if "/" in program else [f"{folder}/{program}" for folder in path.split(":")]
    files = [name for name in names if (directory / name).is_file()]
    for name in files:
        if os.access(directory / name, os.X_OK):
            return name, ""
    if files:
        return "", f"{program!r} is not executable"
    return "", f"the command {program!r} was not found: the build does not make it, or it is misspelt"
