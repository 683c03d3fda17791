"""Run programs with a deadline and bounded output, and leave none of their processes behind."""

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
"""Bytes kept from the end of each stream. Earlier output is read and discarded."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a program.

    Attributes
    ----------
    status
        Exit code, the negative number of the signal that ended it, or None after the deadline.
    output, error
        The end of its standard output and standard error.
    why
        Why it ended, if something else explains it better than the status.
    """

    status: int | None
    output: str
    error: str
    seconds: float
    deadline: float
    why: str = ""

    @property
    def problem(self) -> str:
        """Why it failed, as the second half of a sentence; empty if it succeeded."""
        if self.why:
            return self.why
        if self.status is None:
            return f"did not finish within {self.deadline:g} s"
        if self.status < 0:
            return f"was ended by {signal_name(-self.status)}"
        return f"ended with exit code {self.status}" if self.status else ""


def signal_name(number: int) -> str:
    """Return the name of a signal. Python knows no names of the real-time signals between the first and the last."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"signal {number}"


class Companion(Protocol):
    """Communicates with the program while it runs, over descriptors that the program inherits."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors for the program to inherit."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the program has sent something."""

    def serve(self, pid: int) -> bool:
        """Read and answer; return whether more can come. ``pid`` is the started process."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to start."""

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
    """Run a command without a shell and without standard input, in its own session.

    Parameters
    ----------
    timeout
        Seconds after which every process of the session is killed.
    merge
        Merge standard error into the output, in the order of writing.

    Raises
    ------
    FileNotFoundError, PermissionError
        The command cannot be executed.
    """
    program = Program(command, environment, companions, inherited)
    return execute_together([program], directory=directory, timeout=timeout, merge=merge)[0]


def execute_together(
    programs: Iterable[Program], *, directory: Path, timeout: float, merge: bool = False
) -> list[Finished]:
    """Run programs at once, each as :func:`execute` does.

    The next program is taken from the iterable after the previous one has started.
    """
    started = time.monotonic()
    running: list[_Running] = []
    try:
        for program in programs:
            running.append(_Running.start(program, directory, merge))
        _collect(running, started + timeout)
    finally:
        # Kill background processes too: they would disturb the next measurement.
        for program_run in running:
            _end_session(program_run.process)
            program_run.close()
    return [program_run.finished(started, timeout) for program_run in running]


@dataclass(slots=True)
class _Running:
    """A running program, and the end of its output so far."""

    process: subprocess.Popen[bytes]
    companions: Sequence[Companion]
    tails: dict[IO[bytes], bytearray]
    open: int
    """How many of its streams are still open."""

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
        """Read the available output; return whether more can come."""
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
    """Read all streams and serve all companions until every program ends or the deadline passes."""
    with selectors.DefaultSelector() as selector:
        for program in running:
            for stream in program.tails:
                selector.register(stream, selectors.EVENT_READ, partial(program.read, stream))
            for companion in program.companions:
                selector.register(companion, selectors.EVENT_READ, partial(companion.serve, program.process.pid))
        while any(program.open for program in running) and time.monotonic() < deadline:
            # A background child can hold a stream open after the program has ended.
            if all(program.process.poll() is not None for program in running) and not selector.select(0):
                break
            for key, _ in selector.select(min(0.2, max(0.0, deadline - time.monotonic()))):
                if not key.data():
                    selector.unregister(key.fileobj)
    for program in running:
        wait_for_end(program.process, deadline - time.monotonic())


def wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a child to end; return whether it did. ``Popen.wait`` with a timeout polls every few milliseconds."""
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
