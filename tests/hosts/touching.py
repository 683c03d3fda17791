"""A repository to measure on a guest: a program whose faults depend on the huge pages that the host gives."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hosts.ssh import Guest, NotUp

SUBJECT = "touch"
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
    return f"cd {_FOLDER} && {AS_RUNNER} faultwatch history --repo . --workload {workload}.toml"


def measure(guest: Guest) -> str:
    """Measure its newest commit on a guest, as the measuring user, and report; return what the command said."""
    return guest.run(_command(guest, "workload")).stdout


@contextmanager
def measuring(guest: Guest) -> Iterator[subprocess.Popen[str]]:
    """Measure a case that takes half a minute; yield the process once its program runs. It is ended at the end.

    Raises
    ------
    NotUp
        The program does not run after a minute.
    """
    with guest.started(_command(guest, "slow")) as job:
        deadline = time.monotonic() + 60
        while guest.run("pgrep -x touch", check=False).returncode:
            if job.poll() is not None or time.monotonic() > deadline:
                said = job.communicate()[0] if job.poll() is not None else ""
                raise NotUp(f"nothing is measured on {guest.name}: {said}")
            time.sleep(0.5)
        yield job
