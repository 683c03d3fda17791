"""A repository to measure on a guest: a program whose faults depend on the huge pages that the host gives."""

from __future__ import annotations

from pathlib import Path

from tests.hosts.ssh import Guest

SUBJECT = "touch"
_FILES = Path(__file__).with_name("subject")
_AS_RUNNER = "runuser --user faultwatch --"
_COMMIT = "git -c user.name=Author -c user.email=author@example.invalid commit --quiet --message 'Touch memory'"


def measure(guest: Guest) -> str:
    """Measure its newest commit on a guest, as the measuring user, and report; return what the command said."""
    folder = f"/var/lib/faultwatch/{SUBJECT}"
    if guest.run(f"test -d {folder}/.git", check=False).returncode:
        guest.run(f"{_AS_RUNNER} mkdir {folder}")
        for file in sorted(_FILES.iterdir()):
            guest.run(f"{_AS_RUNNER} tee {folder}/{file.name}", stdin=file.read_text(encoding="utf-8"))
        guest.run(f'cd {folder} && {_AS_RUNNER} sh -c "git init --quiet && git add . && {_COMMIT}"')
    return guest.run(f"cd {folder} && {_AS_RUNNER} faultwatch history --repo .").stdout
