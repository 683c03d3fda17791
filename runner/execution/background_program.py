"""Runs a program in the background; the caller decides when to read its output and to answer its companions."""

import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.execution.execute import Companion, EndPrograms, Program, ProgramResult, RunningProgram, end_programs

_POLL_SECONDS = 0.01
"""Seconds between two checks of a condition while nothing can be read."""


class BackgroundProgram:
    """A program that runs until it exits or until :meth:`end`. All processes that it has started end with it.

    Only :meth:`wait_until` reads what it prints and answers its companions, so it may block until the next call.
    """

    def __init__(self, program: Program, directory: Path) -> None:
        """Start the program in a folder.

        Raises
        ------
        OSError
            The program cannot be executed; with a supervisor, :meth:`end` raises this.
        """
        self._started_at = time.monotonic()
        self._running_program = RunningProgram.start(program, directory, merge_streams=False)
        self._ended_by_companion = False
        self._selector = selectors.DefaultSelector()
        for stream in self._running_program.tails:
            self._selector.register(stream, selectors.EVENT_READ, partial(self._running_program.read, stream))
        for companion in program.companions:
            self.add_companion(companion)

    def add_companion(self, companion: Companion) -> None:
        """Read and answer the messages of a further companion from now on."""
        serve = partial(companion.serve, self._running_program.process.pid)
        self._selector.register(companion.fileno(), selectors.EVENT_READ, serve)

    def remove_companion(self, companion: Companion) -> None:
        """Stop reading from a companion; do nothing if it was removed already because no more messages can come."""
        with suppress(KeyError):
            self._selector.unregister(companion.fileno())

    @property
    def has_ended(self) -> bool:
        """Whether the program has exited, or a companion has asked for its end."""
        return self._ended_by_companion or self._running_program.process.has_ended()

    @property
    def printed_output(self) -> str:
        """The end of what the program has written to each stream so far, standard output first."""
        return "".join(bytes(tail).decode(errors="replace") for tail in self._running_program.tails.values())

    def wait_until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Read streams and answer companions until a condition holds, the program ends, or the deadline passes.

        Parameters
        ----------
        deadline
            A time of the monotonic clock, in seconds.

        Returns
        -------
        bool
            Whether the condition holds.
        """
        while not condition():
            if self.has_ended or time.monotonic() >= deadline:
                return condition()  # It may hold since a moment ago.
            try:
                self._serve_companions(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))
            except EndPrograms:
                self._ended_by_companion = True
        return True

    def end(self, timeout: float = 0) -> ProgramResult:
        """End the program and all processes that it has started, and return how it ended.

        Parameters
        ----------
        timeout
            The time limit in seconds that the result mentions.

        Raises
        ------
        OSError
            The supervisor could not execute the program.
        """
        while self._running_program.process.has_ended() and self._selector.select(0):  # what it printed last
            with suppress(EndPrograms):
                self._serve_companions(0)
        end_programs([self._running_program])
        return self._running_program.make_result(time.monotonic() - self._started_at, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_programs([self._running_program])
        self._selector.close()

    def _serve_companions(self, seconds: float) -> None:
        """Wait at most some seconds for messages, and read them; drop streams and companions that have ended.

        Raises
        ------
        EndPrograms
            A companion wants the program to be ended.
        """
        for key, _ in self._selector.select(seconds):
            # The registered function reads the stream or serves the companion; it returns whether more can come.
            if not key.data():
                self._selector.unregister(key.fileobj)
