"""Run a program to its end: with a deadline, with its output bounded, and with nothing of it left behind."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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
    """

    status: int | None
    output: str
    error: str
    seconds: float
    deadline: float

    @property
    def trouble(self) -> str:
        """Why it did not end well, as the second half of a sentence; empty where it did."""
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

    def serve(self, pid: int) -> None:
        """Read it, and answer. ``pid`` is the process that was started."""


def execute(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    timeout: float,
    merge: bool = False,
    companion: Companion | None = None,
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
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        start_new_session=True,
        pass_fds=companion.descriptors if companion else (),
    )
    try:
        output, error = _collect(process, started + timeout, companion)
    finally:
        # Also what it left running in the background: it would disturb the next measurement.
        _end_session(process)
    late = process.returncode == -signal.SIGKILL and time.monotonic() - started >= timeout
    return Finished(
        status=None if late else process.returncode,
        output=output,
        error=error,
        seconds=time.monotonic() - started,
        deadline=timeout,
    )


def _collect(process: subprocess.Popen[bytes], deadline: float, companion: Companion | None) -> tuple[str, str]:
    """Read both streams until the process ends or the deadline comes; return their last bytes as text."""
    tails = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream}
    with selectors.DefaultSelector() as selector:
        for stream, tail in tails.items():
            selector.register(stream, selectors.EVENT_READ, tail)
        if companion:
            selector.register(companion, selectors.EVENT_READ)
        while _open_streams(selector) and time.monotonic() < deadline:
            # A child in the background can hold a stream open after the program itself has ended.
            if process.poll() is not None and not selector.select(0):
                break
            for key, _ in selector.select(min(0.2, max(0.0, deadline - time.monotonic()))):
                if key.data is None and companion:
                    companion.serve(process.pid)
                    continue
                data = os.read(key.fd, 65_536)
                if not data:
                    selector.unregister(key.fileobj)
                key.data.extend(data)
                del key.data[:-OUTPUT_LIMIT]
    remaining = deadline - time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, remaining))
    texts = [bytes(tail).decode(errors="replace") for tail in tails.values()]
    for stream in tails:
        stream.close()
    return texts[0], texts[1] if len(texts) > 1 else ""


def _open_streams(selector: selectors.BaseSelector) -> bool:
    return any(key.data is not None for key in selector.get_map().values())


def _end_session(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
