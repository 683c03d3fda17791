"""Runs programs with a deadline and bounded output, and leaves none of their processes behind."""

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Protocol, Self

from msgspec import Struct

from runner.execution.supervision import SupervisedProcess
from runner.execution.supervisor_compilation import get_supervisor
from runner.settings import load_settings

MAX_OUTPUT_BYTES = 256 * 1024
"""Bytes kept from the end of each stream. Earlier output is read and discarded."""


_READ_BYTES = 65_536
"""Bytes that are read from a stream at once: the capacity of a pipe."""
_ROUND_SECONDS = 0.2
"""Seconds between two checks of the deadline: it moves while the clock that it is measured by is stopped."""

TIMEOUT_WORDS = "did not finish within"
"""How the problem of a program begins that was ended at its deadline."""


class ProgramResult(Struct, frozen=True):
    """The result of a program.

    Attributes
    ----------
    status
        The exit code, the negative number of the signal that ended the program, or None after the deadline.
    output, error
        The end of its standard output and of its standard error.
    explanation
        Why it ended, if something explains this better than the status; else empty.
    """

    status: int | None
    output: str
    error: str
    seconds: float
    deadline: float
    explanation: str = ""

    @property
    def timed_out(self) -> bool:
        """Whether the program was ended at its deadline."""
        return self.status is None and not self.explanation

    @property
    def problem(self) -> str:
        """Why the program failed, as the predicate of a sentence; empty if it succeeded."""
        if self.explanation:
            return self.explanation
        if self.status is None:
            return f"{TIMEOUT_WORDS} {self.deadline:g} s"
        if self.status < 0:
            return f"was terminated by {get_signal_name(-self.status)}"
        return f"ended with exit code {self.status}" if self.status else ""


def get_signal_name(number: int) -> str:
    """Return the name of a signal. Python names only the first and the last of the real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"signal {number}"


class EndPrograms(Exception):
    """Raised by a companion to kill all programs that run together."""


class Companion(Protocol):
    """Something that communicates with a program while it runs, over descriptors that the program inherits."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors for the program to inherit."""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the program has sent something."""

    def serve(self, pid: int) -> bool:
        """Read and answer a message; return whether more messages can come. ``pid`` is the started process.

        Raises
        ------
        EndPrograms
            The programs have to be killed.
        """


class Program(Struct, frozen=True):
    """A program to start."""

    command: Sequence[str]
    environment: Mapping[str, str]
    companions: Sequence[Companion] = ()
    inherited_descriptors: Sequence[int] = ()
    """Descriptors that it inherits in addition to those of its companions."""


def execute(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    timeout: float,
    merge_streams: bool = False,
    companions: Sequence[Companion] = (),
    inherited_descriptors: Sequence[int] = (),
    read_clock: Callable[[], float] = time.monotonic,
) -> ProgramResult:
    """Run a command without a shell and without standard input, in its own session.

    Parameters
    ----------
    timeout
        Seconds after which every process of the session is killed.
    merge_streams
        Whether standard error is added to the output, in the order in which both are written.
    read_clock
        Returns the seconds since a fixed moment; the time-out and the duration in the result are measured by it.

    Raises
    ------
    FileNotFoundError, PermissionError
        The command cannot be executed.
    """
    program = Program(command, environment, companions, inherited_descriptors)
    return execute_together(
        [program], directory=directory, timeout=timeout, merge_streams=merge_streams, read_clock=read_clock
    )[0]


def execute_together(
    programs: Iterable[Program],
    *,
    directory: Path,
    timeout: float,
    merge_streams: bool = False,
    read_clock: Callable[[], float] = time.monotonic,
) -> list[ProgramResult]:
    """Run programs at the same time, each as :func:`execute` does.

    The next program is taken from the iterable after the previous one has started.

    Returns
    -------
    list
        The results in the order of the programs. All have the same duration, which ends when all programs have ended.

    Raises
    ------
    OSError
        A program cannot be executed; all others have ended then.
    """
    started_at = read_clock()
    running_programs: list[RunningProgram] = []
    try:
        for program in programs:
            running_programs.append(RunningProgram.start(program, directory, merge_streams))
        with suppress(EndPrograms):
            _collect_output(running_programs, started_at + timeout, read_clock)
    finally:
        end_programs(running_programs)
    seconds = read_clock() - started_at
    return [program_run.make_result(seconds, timeout) for program_run in running_programs]


class RunningProgram(Struct):
    """A running program, and the end of its output so far."""

    process: SupervisedProcess
    companions: Sequence[Companion]
    tails: dict[IO[bytes], bytearray]
    open_streams: int
    """How many of its streams can still send output."""

    @classmethod
    def start(cls, program: Program, directory: Path, merge_streams: bool) -> Self:
        """Start a program in a folder; ``merge_streams`` merges its error stream into its output.

        Raises
        ------
        OSError
            Without a supervisor: the program cannot be executed. With one, :meth:`SupervisedProcess.end` raises this.
        """
        process = SupervisedProcess.start(
            program.command,
            supervisor=get_supervisor(load_settings().programs),
            directory=directory,
            environment=program.environment,
            merge_streams=merge_streams,
            inherited_descriptors=[
                *program.inherited_descriptors,
                *(fd for companion in program.companions for fd in companion.descriptors),
            ],
        )
        tails = {stream: bytearray() for stream in process.streams}
        return cls(process, program.companions, tails, open_streams=len(tails))

    def read(self, stream: IO[bytes]) -> bool:
        """Read the available output of a stream; return whether more can come."""
        data = os.read(stream.fileno(), _READ_BYTES)
        tail = self.tails[stream]
        tail.extend(data)
        del tail[:-MAX_OUTPUT_BYTES]
        if not data:
            self.open_streams -= 1
        return bool(data)

    def close(self) -> None:
        """Close its streams."""
        for stream in self.tails:
            stream.close()

    def make_result(self, seconds: float, timeout: float) -> ProgramResult:
        """Return the result of the program, which took ``seconds`` and had a limit of ``timeout`` seconds."""
        texts = [bytes(tail).decode(errors="replace") for tail in self.tails.values()]
        return ProgramResult(
            status=self.process.status,
            output=texts[0],
            error=texts[1] if len(texts) > 1 else "",
            seconds=seconds,
            deadline=timeout,
        )


def end_programs(running_programs: Iterable[RunningProgram]) -> None:
    """End all programs and their background processes, which would disturb the next measurement.

    Raises
    ------
    OSError
        A supervisor could not execute its program; all programs have ended nevertheless.
    """
    errors = []
    for program in running_programs:
        try:
            program.process.end()
        except OSError as error:
            errors.append(error)
        finally:
            program.close()
    if errors:
        raise errors[0]


def _collect_output(
    running_programs: Sequence[RunningProgram], deadline: float, read_clock: Callable[[], float]
) -> None:
    """Read all streams and serve all companions until every program ends or the deadline passes.

    Raises
    ------
    EndPrograms
        A companion wants all programs to be killed.
    """
    with selectors.DefaultSelector() as selector:
        for program in running_programs:
            for stream in program.tails:
                selector.register(stream, selectors.EVENT_READ, partial(program.read, stream))
            for companion in program.companions:
                selector.register(companion, selectors.EVENT_READ, partial(companion.serve, program.process.pid))
        while any(program.open_streams for program in running_programs) and read_clock() < deadline:
            # A background process can keep a stream open after the program has ended, so do not wait for its end.
            if all(program.process.has_ended() for program in running_programs) and not selector.select(0):
                break
            for key, _ in selector.select(min(_ROUND_SECONDS, max(0.0, deadline - read_clock()))):
                # The registered function reads the stream or serves the companion; it returns whether more can come.
                if not key.data():
                    selector.unregister(key.fileobj)
    for program in running_programs:
        while not program.process.has_ended():
            seconds_left = deadline - read_clock()
            if seconds_left <= 0:
                break
            program.process.wait(min(_ROUND_SECONDS, seconds_left))
