"""A real service on its own database, and the real command that speaks to it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import requests

_PATIENCE = 120
_SETTLING = 600
"""Seconds within which a history of 29,000 runs is judged on a busy machine."""
_WAITING = (
    "SELECT (SELECT count(*) FROM series WHERE judged AND version <> judged_version)"
    " + (SELECT count(*) FROM subject WHERE drifts_version <> events_version)"
)


@dataclass(frozen=True)
class RunningService:
    """A service that runs in its own process."""

    address: str
    home: Path

    def get(self, path: str) -> Any:
        """Return the JSON document at an address."""
        answer = requests.get(self.address + path, headers={"Accept": "application/json"}, timeout=_PATIENCE)
        assert answer.ok, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()

    def command(self, *words: str) -> str:
        """Run ``faultwatch``; return what it prints."""
        environment = os.environ | {"FAULTWATCH_URL": self.address, "FAULTWATCH_HOME": str(self.home / "runner")}
        done = subprocess.run(
            [sys.executable, "-m", "runner", *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def settle(self) -> None:
        """Wait until every series is judged and all events are made."""
        deadline = time.monotonic() + _SETTLING
        with closing(self._database()) as connection:
            while connection.execute(_WAITING).fetchone()[0]:
                assert time.monotonic() < deadline, "the history is not judged"
                time.sleep(0.5)

    def let_time_pass(self, passed: timedelta) -> None:
        """Make everything that was found so far be found earlier, as if the service had run for longer."""
        with closing(self._database()) as connection, connection:
            connection.execute(
                "UPDATE event SET found_at = datetime(found_at, ?)", (f"-{int(passed.total_seconds())} seconds",)
            )

    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.home / "faultwatch.db", timeout=_PATIENCE)


@contextmanager
def running(home: Path) -> Iterator[RunningService]:
    """Start a service on loopback; end it."""
    port_file = home / "port"
    words = ["serve", "--port", "0", "--port-file", str(port_file), "--parent", str(os.getpid())]
    process = subprocess.Popen(
        [sys.executable, "-m", "service", *words],
        env=os.environ | {"FAULTWATCH_HOME": str(home)},
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + _PATIENCE
        while not port_file.exists():
            assert process.poll() is None, "the service does not start"
            assert time.monotonic() < deadline, "the service does not start"
            time.sleep(0.05)
        yield RunningService(f"http://127.0.0.1:{int(port_file.read_text())}", home)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(_PATIENCE)
