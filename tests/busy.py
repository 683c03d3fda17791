"""Other work on this machine: what a count must not depend on, and what makes races show."""

import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MEBIBYTE = 1 << 20


def _compute() -> None:
    sum(range(200_000))


def _start_programs() -> None:
    subprocess.run(["true"], check=True)


def _use_memory() -> None:
    bytes(64 * _MEBIBYTE).count(b"x")


def _write_files() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8 * _MEBIBYTE))
        os.fsync(file.fileno())
    time.sleep(0.05)


def _repeat(work: Callable[[], None], parent: int) -> None:
    # A test session that is killed does not end this process.
    while os.getppid() == parent:
        work()


@contextmanager
def busy_machine() -> Iterator[None]:
    """Keep every processor busy with more work than it can do: computing, starting programs, memory and files."""
    kinds = (_compute, _start_programs, _use_memory, _write_files)
    context = multiprocessing.get_context("spawn")
    others = [
        context.Process(target=_repeat, args=(work, os.getpid()), daemon=True)
        for _ in os.sched_getaffinity(0)
        for work in kinds
    ]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
        for other in others:
            other.join()
