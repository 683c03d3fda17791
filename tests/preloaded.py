"""Starts commands and services in a moment: each is a fork of a process that has imported what they import.

Most of a start is imports. What a test does afterwards does not depend on them. The tests of the start itself, of its
imports and of what a process looks like from outside do without this, as do the commands that start a service.
"""

import atexit
import functools
import gc
import importlib
import json
import keyword
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Started:
    """A command or a service that runs in a session of its own.

    Attributes
    ----------
    process
        The number of its first process.
    handle
        A descriptor of that process, which stays its own when the number is given to another one.
    """

    process: int
    handle: int

    def is_running(self) -> bool:
        """Return whether its first process has not ended."""
        return not self._wait_for_end(0)

    def wait(self, seconds: float) -> int:
        """Return the exit code of its first process; kill it where it takes longer."""
        if not self._wait_for_end(seconds):
            self.kill()
            raise subprocess.TimeoutExpired(str(self.process), seconds)
        return self._reap()

    def kill(self) -> None:
        """Kill all of its processes that still run."""
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        self._reap()

    def _reap(self) -> int:
        os.close(self.handle)
        return int(_order({"reap": self.process}))

    def _wait_for_end(self, seconds: float) -> bool:
        ended = select.poll()
        ended.register(self.handle, select.POLLIN)
        return bool(ended.poll(seconds * 1000))


def start(
    program: Literal["faultwatch", "faultwatch-service"],
    *words: str,
    variables: Mapping[str, str],
    folder: Path,
    output: Path,
    errors: Path,
) -> Started:
    """Start a command with these words, variables and working directory; append what it prints to two files."""
    order = {"program": program, "words": words, "variables": dict(variables), "folder": str(folder)}
    process = int(_order({**order, "output": str(output), "errors": str(errors)}))
    return Started(process, os.pidfd_open(process))


def _order(order: Mapping[str, Any]) -> str:
    starter = _run_starter()
    assert starter.stdin is not None
    assert starter.stdout is not None
    starter.stdin.write(json.dumps(order) + "\n")
    starter.stdin.flush()
    return starter.stdout.readline()


@functools.cache
def _run_starter() -> subprocess.Popen[str]:
    starter = subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )

    def stop() -> None:
        with starter:  # closes its input, which ends it
            pass

    atexit.register(stop)
    return starter


def _carry_out_orders() -> None:
    import service.serving  # noqa: F401 - for the services
    from runner.cli.entry_point import COMMANDS

    for name in COMMANDS:
        importlib.import_module(f"runner.cli.{name}_" if keyword.iskeyword(name) else f"runner.cli.{name}")
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        if "reap" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["reap"], 0)[1])
        else:
            answer = os.fork() or _become(order)
        print(answer, flush=True)


def _become(order: dict[str, Any]) -> NoReturn:
    from runner.cli import main as run_runner
    from service.__main__ import main as run_service

    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["variables"])
    with (
        Path(os.devnull).open("rb") as nothing,
        Path(order["output"]).open("ab") as output,
        Path(order["errors"]).open("ab") as errors,
    ):
        for stream, file in enumerate((nothing, output, errors)):
            os.dup2(file.fileno(), stream)
    sys.argv = [order["program"], *order["words"]]
    if order["program"] == "faultwatch":
        run_runner()
    else:
        run_service()
    sys.exit()


if __name__ == "__main__":
    _carry_out_orders()
