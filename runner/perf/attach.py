"""A perf that is attached to running processes with its counters closed, and opens and closes them on command."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from runner.contract.report import Reading
from runner.execution.execute import wait_for_end
from runner.execution.start_block import BASE_VARIABLES
from runner.perf.command import SEPARATOR
from runner.perf.parse import PerfOutputError, parse_csv

_PATIENCE = 20.0
"""Seconds in which perf must attach and acknowledge."""


class AttachError(Exception):
    """perf could not do it; says why."""


class ControlledPerf:
    """A perf on some processes and whatever they start from now on; it does nothing before ``enable``."""

    def __init__(self, words: Sequence[str], processes: Sequence[int], inherited: Sequence[int] = ()) -> None:
        self._stopped = False
        self._said = os.memfd_create("perf-said")
        control, self._to_perf = os.pipe()
        self._from_perf, ack = os.pipe()
        self._own = [self._said, self._to_perf, self._from_perf, *inherited]
        try:
            self._perf = subprocess.Popen(
                [
                    *("perf", *words),
                    *("-D", "-1", "--control", f"fd:{control},{ack}", "-p", ",".join(map(str, processes))),
                ],
                env=dict(BASE_VARIABLES),  # Not the program's: it must not choose a library for perf.
                pass_fds=(control, ack, *inherited),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
            )
        except BaseException:
            self._let_go()
            raise
        finally:
            os.close(control)
            os.close(ack)

    def send_command(self, command: str) -> None:
        """Give a command, ``enable`` or ``disable``, and wait until it is carried out.

        Raises
        ------
        AttachError
            Where perf could not attach, or says nothing.
        """
        deadline = time.monotonic() + _PATIENCE
        answer = b""
        with suppress(BrokenPipeError):
            os.write(self._to_perf, command.encode() + b"\n")
        with selectors.DefaultSelector() as selector:
            selector.register(self._from_perf, selectors.EVENT_READ)
            while b"\n" not in answer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise AttachError(f"perf did not acknowledge within {_PATIENCE:g} s")
                # Some versions send a NUL behind the line; it comes along with the next answer.
                got = os.read(self._from_perf, 16)
                if not got:
                    said = _text(self._said).split("\n")
                    line = next((text.strip() for text in said if text.strip(" :\n")), "it said nothing")
                    raise AttachError(f"perf could not attach to the program: {line[:300]}")
                answer += got

    def stop(self) -> None:
        """Let perf write what it knows, without waiting. It would notice by itself, but only within a second."""
        if not self._stopped:
            self._stopped = True
            self._perf.send_signal(signal.SIGINT)

    def end(self, patience: float = 5) -> None:
        """Let perf write what it knows, and wait until it has."""
        self.stop()
        if not wait_for_end(self._perf, patience):
            self._perf.kill()
            wait_for_end(self._perf, patience)

    def close(self) -> None:
        """End perf, and let go of the pipes."""
        if self._perf.poll() is None:
            self._perf.kill()
            self._perf.wait()
        self._let_go()

    def _let_go(self) -> None:
        while self._own:
            os.close(self._own.pop())


class AttachedPerf(ControlledPerf):
    """perf stat: counts."""

    def __init__(self, processes: Sequence[int], events: Sequence[str]) -> None:
        self._events = tuple(events)
        self._output = os.memfd_create("perf-stat")
        words = ("stat", "-x", SEPARATOR, "--log-fd", str(self._output), "-e", ",".join(events))
        super().__init__(words, processes, [self._output])

    def text(self) -> str:
        """Return perf's own words. Not after :meth:`close`."""
        return _text(self._output)

    def readings(self) -> dict[str, Reading]:
        """Return what was counted.

        Raises
        ------
        PerfOutputError
            Where perf wrote nothing, or what cannot be understood.
        """
        text = self.text()
        if not text.strip():
            raise PerfOutputError("perf wrote nothing")
        return dict(parse_csv(text, SEPARATOR, asked=self._events).readings)


def _text(file: int) -> str:
    """Read all of a file in memory, wherever perf has left off in it."""
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
