"""Runs podman, and containers as strictly as compose.yaml does."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

STRICT = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--network=none")
LIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096")
"""podman's own defaults are above what a caller in a virtual machine or a container may set."""
RUNTIME = ("--runtime", "runc") if shutil.which("runc") else ()
"""crun, the default, refuses hosts that mount both versions of control groups."""
_ASK = """
import json, sys, urllib.error, urllib.request
request = urllib.request.Request(f"http://127.0.0.1:8080{sys.argv[1]}", headers=json.loads(sys.argv[2]))
try:
    answer = urllib.request.urlopen(request, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status)
print(answer.read().decode())
"""


def podman(*words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run podman; show what it said where it fails."""
    done = subprocess.run(["podman", *RUNTIME, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, f"podman {words[0]}: {done.stdout}{done.stderr}"
    return done


@dataclass(frozen=True)
class Container:
    """A container that serves.

    Attributes
    ----------
    name
        Its name.
    """

    name: str

    def run(self, *command: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a command inside."""
        return podman("exec", self.name, *command, check=check)

    def ask(self, path: str, token: str = "") -> tuple[int, str]:
        """Send a request from inside, since the container has no network; return the status and the body."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        status, _, body = self.run("python3", "-c", _ASK, path, json.dumps(headers)).stdout.partition("\n")
        return int(status), body

    def is_healthy(self) -> bool:
        """Whether the image's own check succeeds."""
        return podman("healthcheck", "run", self.name, check=False).returncode == 0

    def wait_until_healthy(self) -> None:
        """Wait; show the log if it ends, or takes too long."""
        deadline = time.monotonic() + 120
        while not self.is_healthy():
            logs = podman("logs", self.name)
            assert self.state()["Running"], logs.stdout + logs.stderr
            assert time.monotonic() < deadline, logs.stdout + logs.stderr
            time.sleep(0.5)

    def state(self) -> dict[str, Any]:
        """Return what podman knows about it."""
        (found,) = json.loads(podman("inspect", self.name).stdout)
        state: dict[str, Any] = found["State"]
        return state


@contextmanager
def serving(image: str, *options: str) -> Iterator[Container]:
    """Start a container, wait until it is healthy, and remove it in the end."""
    container = Container(podman("run", "--detach", *STRICT, *LIMITS, *options, image).stdout.strip())
    try:
        container.wait_until_healthy()
        yield container
    finally:
        podman("rm", "--force", "--volumes", "--time", "10", container.name)
