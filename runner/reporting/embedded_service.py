"""Starts an embedded service while a command runs, so that local use needs no server but has the same API."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.execution_log import log_command, log_step
from runner.execution.own_command import SAFE_DIRECTORY, build_module_command, build_own_environment
from runner.reporting.actions_sign_in import sign_in
from runner.reporting.client import Service
from runner.settings import Settings
from runner.system.scratch import make_scratch_folder

START_TIMEOUT_SECONDS = 30.0
"""Seconds within which an embedded service must start."""
_POLL_SECONDS = 0.02
"""Seconds between two checks of whether it has started."""
_STOP_SECONDS = 10.0
"""Seconds after which it is killed if it has not stopped."""


@contextmanager
def connect_to_service(settings: Settings, home: Path | None = None) -> Iterator[Service]:
    """Connect to the configured service, or start one on the local database and stop it afterwards.

    Parameters
    ----------
    home
        A folder for a separate database: a service is then started even if another one is configured. None for the
        usual database.

    Raises
    ------
    FaultwatchError
        The embedded service does not start; the message contains its last line of output.
    """
    # Connect to a configured service.
    if settings.url and home is None:
        url = settings.url
        # A token from the settings cannot be renewed. A token from the sign-in of a CI job expires and can be renewed.
        renew_token = None if settings.token else lambda: sign_in(url)
        yield Service(url, settings.token or sign_in(url), sign_in=renew_token)
        return
    # Otherwise start an embedded service, which ends with the command.
    with make_scratch_folder() as scratch:
        port_file = scratch / "port"
        log = scratch / "log"
        started_at = time.monotonic()
        command = [
            *build_module_command("service", "serve", "--host", "127.0.0.1", "--port", "0"),
            *("--port-file", str(port_file), "--parent", str(os.getpid())),
        ]
        log_command(command)
        variables = build_own_environment() | {"FAULTWATCH_HOME": str(settings.home), "FAULTWATCH_JOBS_HERE": "no"}
        if home is not None:
            variables |= build_own_database(home)
        process = start_process(command, variables, log)
        try:
            port = _wait_for_port(process, port_file, log)
            log_step("the local service answers on port %d after %.1f s", port, time.monotonic() - started_at)
            yield Service(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def build_own_database(home: Path) -> dict[str, str]:
    """Return the variables that make a service use a separate database, and send no notifications."""
    # Without an address, the database is in the home folder.
    return {"FAULTWATCH_HOME": str(home), "DATABASE_URL": "", "FAULTWATCH_NOTIFICATIONS": ""}


def start_process(command: Sequence[str], variables: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a service in its own session, so that Ctrl-C reaches only the command, which stops the service itself."""
    with log.open("wb") as stream:
        return subprocess.Popen(
            command,
            env=variables,
            cwd=SAFE_DIRECTORY,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def _wait_for_port(process: subprocess.Popen[bytes], port_file: Path, log: Path) -> int:
    """Wait until the embedded service has written its port, and return the port.

    Raises
    ------
    FaultwatchError
        The service has ended, or has not started in time; the message contains its last line of output.
    """
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if port_file.exists():
            return int(port_file.read_text(encoding="ascii"))
        if process.poll() is not None:
            break
        time.sleep(_POLL_SECONDS)
    limit_text = f" within {START_TIMEOUT_SECONDS:.0f} s" if process.poll() is None else ""
    output = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last_line = output[-1] if output else "it printed nothing"
    # If a package is not installed, the last line already says how to install it; the remedy adds an alternative.
    raise FaultwatchError(
        f"the local service did not start{limit_text}: {last_line.removeprefix('faultwatch-service: ')}",
        "or set FAULTWATCH_URL to the URL of a service that runs elsewhere" if "is not installed" in last_line else "",
    )
