"""A service of one's own, for as long as a command runs: where none is named, local use takes the same way in."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.own_command import SAFE_DIRECTORY, own_environment, own_module
from runner.reporting.client import Service
from runner.reporting.sign_in import sign_in
from runner.settings import Settings

START_TIMEOUT = 30.0
"""Seconds in which an embedded service must answer."""


@contextmanager
def connect(settings: Settings) -> Iterator[Service]:
    """Return the service that the settings name, or start one on the local database and end it afterwards.

    Raises
    ------
    FaultwatchError
        Where an embedded service does not start, with the line that it said.
    """
    if settings.url:
        url = settings.url
        again = None if settings.token else lambda: sign_in(url)
        yield Service(url, settings.token or sign_in(url), sign_in=again)
        return
    with tempfile.TemporaryDirectory(prefix="faultwatch-") as scratch:
        port_file = Path(scratch, "port")
        log = Path(scratch, "log")
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [
                    *own_module("service", "serve", "--host", "127.0.0.1", "--port", "0"),
                    *("--port-file", str(port_file), "--parent", str(os.getpid())),
                ],
                env=own_environment() | {"FAULTWATCH_HOME": str(settings.home), "FAULTWATCH_JOBS_HERE": "no"},
                cwd=SAFE_DIRECTORY,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                # Ctrl-C is for the command: it ends the service once what was measured is stored.
                start_new_session=True,
            )
        try:
            yield Service(f"http://127.0.0.1:{_wait_for_port(process, port_file, log)}")
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_port(process: subprocess.Popen[bytes], port_file: Path, log: Path) -> int:
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if port_file.exists():
            return int(port_file.read_text(encoding="ascii"))
        if process.poll() is not None:
            break
        time.sleep(0.02)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    why = said[-1] if said else "it said nothing"
    # As after an update of a checkout: the newer service needs a package more.
    missing = why.startswith("ModuleNotFoundError")
    raise FaultwatchError(
        f"the local service did not start: {why}",
        "install what requirements.txt names, as `make run` does" if missing else "",
    )
