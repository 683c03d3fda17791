"""Starts commands and services in a moment: each is a fork of a process that has imported what they import.

Most of a start is imports. What a test does afterwards does not depend on them. The tests of the start itself, of its
imports and of what a process looks like from outside do without this.
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
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
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
    from runner.reporting import embedded_service
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
        if not os.environ.get("FAULTWATCH_URL"):
            _start_from_a_fork(embedded_service)
        _run(run_runner)
    else:
        _run(run_service)


def _run(main: Callable[[], object]) -> NoReturn:
    """Run a command and end as a process does, but keep what was imported: to take it down is most of the work."""
    try:
        main()
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        status = end.code or 0
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def _start_from_a_fork(embedded_service: ModuleType) -> None:
    """Let the first service that this command starts for itself be a fork, which has the imports."""
    service, start_process = _WaitingService(), embedded_service.start_process

    def start_first(*arguments: Any) -> _WaitingService:
        embedded_service.start_process = start_process
        return service.start(*arguments)

    embedded_service.start_process = start_first


class _WaitingService:
    """The service that a command starts for itself: a fork from before the command has threads.

    It waits until the command says with what to start, and ends where the command ends without a word.
    """

    def __init__(self) -> None:
        orders, self._orders = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._orders)
            self._serve(orders)
        os.close(orders)
        self._handle = os.pidfd_open(self.pid)
        self._status: int | None = None

    def start(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> "_WaitingService":
        order = {"words": command[command.index("serve") :], "variables": dict(variables), "log": str(log)}
        with os.fdopen(self._orders, "w") as stream:
            json.dump(order, stream)
        return self

    def _serve(self, orders: int) -> NoReturn:
        from runner.execution.own_command import SAFE_DIRECTORY
        from service.__main__ import main as run_service

        os.setsid()
        with os.fdopen(orders) as stream:
            text = stream.read()
        if not text:
            os._exit(0)
        order = json.loads(text)
        os.chdir(SAFE_DIRECTORY)
        os.environ.clear()
        os.environ.update(order["variables"])
        with Path(order["log"]).open("ab") as log:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
        sys.argv = ["faultwatch-service", *order["words"]]
        _run(run_service)

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self._status

    def wait(self, seconds: float | None = None) -> int:
        if self._status is None:
            ended = select.poll()
            ended.register(self._handle, select.POLLIN)
            if not ended.poll(None if seconds is None else seconds * 1000):
                raise subprocess.TimeoutExpired("faultwatch-service", seconds or 0)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def terminate(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)


if __name__ == "__main__":
    _carry_out_orders()
