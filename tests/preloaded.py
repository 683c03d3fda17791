"""Starts services in a moment: each is a fork of a process that has imported what a service imports.

Most of the start of a service is imports. What a test does with the service after that does not depend on them, and the
commands that start a service of their own, and the tests of the service's start, do without this.
"""

import atexit
import functools
import gc
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Service:
    """A service that runs as a session of its own.

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
        return not self._wait(0)

    def kill(self) -> None:
        """Kill all of its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        self._wait(10_000)
        os.close(self.handle)

    def _wait(self, milliseconds: int) -> bool:
        ended = select.poll()
        ended.register(self.handle, select.POLLIN)
        return bool(ended.poll(milliseconds))


def start_service(*words: str, variables: Mapping[str, str], folder: Path, log: Path) -> Service:
    """Start ``faultwatch-service`` with these words, variables and working directory."""
    starter = _run_starter()
    assert starter.stdin is not None
    assert starter.stdout is not None
    order = {"words": words, "variables": dict(variables), "folder": str(folder), "log": str(log)}
    starter.stdin.write(json.dumps(order) + "\n")
    starter.stdin.flush()
    process = int(starter.stdout.readline())
    return Service(process, os.pidfd_open(process))


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


def _serve_orders() -> None:
    import service.serving  # noqa: F401 - what this is about

    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        process = os.fork()
        if not process:
            _become_service(json.loads(line))
        print(process, flush=True)


def _become_service(order: dict[str, str]) -> None:
    from service.__main__ import main

    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["variables"])
    with Path(os.devnull).open("rb") as nothing, Path(order["log"]).open("ab") as log:
        for stream, file in enumerate((nothing, log, log)):
            os.dup2(file.fileno(), stream)
    sys.argv = ["faultwatch-service", *order["words"]]
    status = 1
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve_orders()
