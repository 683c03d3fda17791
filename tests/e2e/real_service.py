"""A real service in its own process, and the real command that measures for it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
_PATIENCE = 60


def find_free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RealService:
    """A service on a port of loopback, with its own home. It can be killed, and started again there."""

    def __init__(self, folder: Path, settings: Mapping[str, str], port: int) -> None:
        self._folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self._port = port
        self.address = f"http://127.0.0.1:{self._port}"
        self._environment = os.environ | {"FAULTWATCH_HOME": str(self.home), "FAULTWATCH_HOST": "here"}
        self._environment |= {"PYTHONPATH": str(ROOT), **settings}
        self._environment.pop("FAULTWATCH_URL", None)
        self.start()

    def start(self) -> None:
        """Start the service; one that ran before has ended."""
        with (self._folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "service", "serve", "--port", str(self._port)],
                env=self._environment,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
            )

    def measure(self, *arguments: str) -> None:
        """Run ``faultwatch`` with the address of the service."""
        done = subprocess.run(
            [sys.executable, "-m", "runner", *arguments],
            env=self._environment | {"FAULTWATCH_URL": self.address},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def ask(self, path: str, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
        """Ask the API until it answers: it may be starting."""
        request = Request(
            f"{self.address}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with urlopen(request, timeout=30) as answer:
                    return json.load(answer)
            except (URLError, ConnectionError, TimeoutError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End all processes of the service by a signal; runners are in their own sessions."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        self._process.wait()


@contextmanager
def running(folder: Path, port: int | None = None, **settings: str) -> Iterator[RealService]:
    """Run a service on a port, by default any free one, with more environment variables."""
    service = RealService(folder, settings, port or find_free_port())
    try:
        yield service
    finally:
        service.stop()
