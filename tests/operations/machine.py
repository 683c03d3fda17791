"""A service machine: the real service in its own processes, with its own home, from any source tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 120


class Machine:
    """A service that can be killed and started again.

    Attributes
    ----------
    port
        Where it serves on loopback.
    """

    def __init__(self, home: Path, url: str, tree: Path = ROOT, workers: int = 2) -> None:
        self.home, self._tree = home, tree
        self._variables = {
            "FAULTWATCH_HOME": str(home),
            "DATABASE_URL": url,
            "FAULTWATCH_WORKERS": str(workers),
            "FAULTWATCH_JOBS_HERE": "no",
        }
        self.port = 0
        home.mkdir(parents=True, exist_ok=True)
        self.start()

    @property
    def address(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it has said."""
        return (self.home / "log").read_text()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        port_file = self.home / "port"
        port_file.unlink(missing_ok=True)
        words = ("serve", "--port", str(self.port), "--port-file", str(port_file), "--parent", str(os.getpid()))
        with (self.home / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service", *words],
                cwd=self._tree,  # where Python looks first
                env={**os.environ, **self._variables},
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that all of it can be killed at once
            )
        deadline = time.monotonic() + PATIENCE
        while not port_file.exists():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)
        self.port = int(port_file.read_text())

    @property
    def workers(self) -> list[int]:
        """Its worker processes."""
        process = self.process.pid
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]

    def kill(self) -> None:
        """End all of its processes with no warning."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        """End it as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)


@contextmanager
def serving(home: Path, url: str, tree: Path = ROOT, workers: int = 2) -> Iterator[Machine]:
    """Run a machine until the end of the block."""
    machine = Machine(home, url, tree, workers)
    try:
        yield machine
    finally:
        if machine.process.poll() is None:
            machine.stop()
