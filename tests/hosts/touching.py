"""A repository to measure on a guest: a program whose faults depend on the huge pages that the host gives."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hosts.ssh import Guest, NotUp

Done = subprocess.CompletedProcess[str]
SUBJECT = "touch"
_WAIT = "/tmp/wait"
_FOLDER = f"/var/lib/faultwatch/{SUBJECT}"
_FILES = Path(__file__).with_name("subject")
AS_RUNNER = "runuser --user faultwatch --"
_COMMIT = "git -c user.name=Author -c user.email=author@example.invalid commit --quiet --message 'Touch memory'"


def _command(guest: Guest, workload: str) -> str:
    if guest.run(f"test -d {_FOLDER}/.git", check=False).returncode:
        guest.run(f"{AS_RUNNER} mkdir {_FOLDER}")
        for file in sorted(_FILES.iterdir()):
            guest.run(f"{AS_RUNNER} tee {_FOLDER}/{file.name}", stdin=file.read_text(encoding="utf-8"))
        guest.run(f'cd {_FOLDER} && {AS_RUNNER} sh -c "git init --quiet && git add . && {_COMMIT}"')
    return f"cd {_FOLDER} && {AS_RUNNER} faultwatch history --repo . {workload}.toml"


def measure(guest: Guest) -> str:
    """Measure its newest commit on a guest, as the measuring user, and report; return what the command said."""
    return guest.run(_command(guest, "workload")).stdout


@contextmanager
def measuring(guest: Guest) -> Iterator[Callable[[], str]]:
    """Measure a case whose program waits; yield what lets it go on, waits until that ends, and returns what was said.

    It runs when this is entered, and goes on at the latest when it is left.

    Raises
    ------
    NotUp
        The program does not run after two minutes.
    """
    guest.run(f"touch {_WAIT}")
    try:
        with guest.started(_command(guest, "slow")) as job:

            def let_go() -> str:
                guest.run(f"rm -f {_WAIT}")
                said = job.communicate()[0]
                assert job.returncode == 0, said
                return said

            until(guest, "pgrep -x touch", lambda done: done.returncode == 0, 120)
            yield let_go
    finally:
        guest.run(f"rm -f {_WAIT}", check=False)


def until(
    guest: Guest, command: str, holds: Callable[[subprocess.CompletedProcess[str]], bool], seconds: float
) -> None:
    """Run a command again and again until what it says holds.

    Raises
    ------
    NotUp
        It does not in time.
    """
    deadline = time.monotonic() + seconds
    while not holds(done := guest.run(command, check=False)):
        if time.monotonic() > deadline:
            raise NotUp(f"{guest.name}, {command}: after {seconds:.0f} s still {done.stdout}{done.stderr}")
        time.sleep(0.5)
