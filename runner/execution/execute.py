"""Run a program to its end: with a deadline, with its output bounded, and with nothing of it left behind."""

import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Protocol, Self

OUTPUT_LIMIT = 256 * 1024
"""Bytes kept of each stream: the end. What a program prints before that is read and forgotten."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a program.

    Attributes
    ----------
    status
        Exit code, the negative number of the signal that ended it, or None where it ran into the deadline.
    output, error
        The end of its standard output and standard error.
    why
        Why it was ended, where somebody knows better than its status.
    """

    status: int | None
    output: str
    error: str
    seconds: float
    deadline: float
    why: str = ""

    @property
    def trouble(self) -> str:
        """Why it did not end well, as the second half of a sentence; empty where it did."""
        if self.why:
            return self.why
        if self.status is None:
            return f"did not finish within {self.deadline:g} s"
        if self.status < 0:
            return f"was ended by {signal.Signals(-self.status).name}"
        return f"ended with exit code {self.status}" if self.status else ""


class Companion(Protocol):
    """Something that talks with the program while it runs, over descriptors that the program inherits."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the program must inherit."""

    def fileno(self) -> int:
        """Return the descriptor that is readable when the program has something to say."""

    def serve(self, pid: int) -> bool:
        """Read it, and answer; return whether more can come. ``pid`` is the process that was started."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be started."""

    command: Sequence[str]
    environment: Mapping[str, str]
    companions: Sequence[Companion] = ()
    inherited: Sequence[int] = ()
    """Descriptors that it gets besides those of its companions."""


def execute(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    timeout: float,
    merge: bool = False,
    companions: Sequence[Companion] = (),
    inherited: Sequence[int] = (),
) -> Finished:
    """Run a command without a shell and without standard input, in a session of its own.

    Parameters
    ----------
    timeout
        Seconds after which every process of its session is killed.
    merge
        Put standard error into the output, in the order in which it was written.

    Raises
    ------
    FileNotFoundError, PermissionError
        Where the command itself cannot be executed.
    """
    program = Program(command, environment, companions, inherited)
    return execute_together([program], directory=directory, timeout=timeout, merge=merge)[0]


def execute_together(
    programs: Iterable[Program], *, directory: Path, timeout: float, merge: bool = False
) -> list[Finished]:
    """Run programs side by side, as :func:`execute` runs one.

    Each is taken from the iterable when the one before it has been started.
    """
    started = time.monotonic()
    running: list[_Running] = []
    try:
        for program in programs:
            running.append(_Running.start(program, directory, merge))
        _collect(running, started + timeout)
    finally:
        # Also what they left running in the background: it would disturb the next measurement.
        for one in running:
            _end_session(one.process)
            one.close()
    return [one.finished(started, timeout) for one in running]


@dataclass(slots=True)
class _Running:
    """A program, and the end of what it has said so far."""

    process: subprocess.Popen[bytes]
    companions: Sequence[Companion]
    tails: dict[IO[bytes], bytearray]
    open: int
    """How many of its streams can still say something."""

    @classmethod
    def start(cls, program: Program, directory: Path, merge: bool) -> Self:
        process = subprocess.Popen(
            program.command,
            cwd=directory,
            env=dict(program.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            start_new_session=True,
            pass_fds=[*program.inherited, *(fd for one in program.companions for fd in one.descriptors)],
        )
        tails = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream}
        return cls(process, program.companions, tails, len(tails))

    def read(self, stream: IO[bytes]) -> bool:
        """Read what there is; return whether more can come."""
        data = os.read(stream.fileno(), 65_536)
        tail = self.tails[stream]
        tail.extend(data)
        del tail[:-OUTPUT_LIMIT]
        self.open -= not data
        return bool(data)

    def close(self) -> None:
        for stream in self.tails:
            stream.close()

    def finished(self, started: float, timeout: float) -> Finished:
        seconds = time.monotonic() - started
        late = self.process.returncode == -signal.SIGKILL and seconds >= timeout
        texts = [bytes(tail).decode(errors="replace") for tail in self.tails.values()]
        return Finished(
            status=None if late else self.process.returncode,
            output=texts[0],
            error=texts[1] if len(texts) > 1 else "",
            seconds=seconds,
            deadline=timeout,
        )


def _collect(running: Sequence[_Running], deadline: float) -> None:
    """Read all streams and serve all companions until every program ends or the deadline comes."""
    with selectors.DefaultSelector() as selector:
        for one in running:
            for stream in one.tails:
                selector.register(stream, selectors.EVENT_READ, partial(one.read, stream))
            for companion in one.companions:
                selector.register(companion, selectors.EVENT_READ, partial(companion.serve, one.process.pid))
        while any(one.open for one in running) and time.monotonic() < deadline:
            # A child in the background can hold a stream open after the program itself has ended.
            if all(one.process.poll() is not None for one in running) and not selector.select(0):
                break
            for key, _ in selector.select(min(0.2, max(0.0, deadline - time.monotonic()))):
                if not key.data():
                    selector.unregister(key.fileobj)
    for one in running:
        wait_for_end(one.process, deadline - time.monotonic())


def wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait until a child ends; tell whether it did. ``Popen.wait`` with a timeout looks only every few milliseconds."""
    if process.poll() is None:
        descriptor = os.pidfd_open(process.pid)
        try:
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            waiting.poll(max(0.0, 1000 * seconds))
        finally:
            os.close(descriptor)
    return process.poll() is not None


def _end_session(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
