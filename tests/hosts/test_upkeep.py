"""Hosts over time: upgraded while a job runs, put back where the new version does not work, restored, and retired.

All of it in containers. The tests build upon each other, in this order.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.api import Api
from tests.hosts.container import container
from tests.hosts.image import UNPACKED, image
from tests.hosts.network import Network, network
from tests.hosts.playbook import ROOT, Played, inventory, play
from tests.hosts.ssh import Guest, Key
from tests.hosts.touching import AS_RUNNER, SUBJECT, measure, measuring, until

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"
PROGRAM = "runner/cli/__init__.py"


@dataclass(frozen=True)
class Checkout:
    """A clone of this checkout, whose versions are made here."""

    folder: Path

    def git(self, *arguments: str) -> str:
        """Run git there, and return what it says."""
        identity = ["-c", "user.name=Author", "-c", "user.email=author@example.invalid"]
        command = ["git", "-C", str(self.folder), *identity, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def version(self, file: str, appended: str) -> str:
        """Commit a version in which a file goes on with a text; return its hash."""
        with (self.folder / file).open("a", encoding="utf-8") as text:
            text.write(appended)
        self.git("commit", "--quiet", "--all", "--message", f"Change {file}")
        return self.git("rev-parse", "HEAD")


@dataclass
class Estate:
    """A service and a runner, the checkout that they were made from, and where more hosts can be booted."""

    runner: Guest
    service: Guest
    checkout: Checkout
    folder: Path
    network: Network
    key: Key
    revision: str

    def play(self, name: str, *options: str, **variables: object) -> Played:
        """Run a playbook against both."""
        variables = {"release_source": str(self.checkout.folder), "release_revision": self.revision} | variables
        groups = {"runners": [self.runner], "service": [self.service]}
        hosts = inventory(
            self.folder,
            groups,
            {"service_name": NAME, "service_tls": "internal", "base_addresses": {NAME: self.service.address}},
        )
        return play(name, hosts, *options, **variables)


@pytest.fixture(scope="module")
def estate() -> Iterator[Estate]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(folder / "checkout")], check=True)
        checkout = Checkout(folder / "checkout")
        key, base, shared = Key.fresh(folder), image(UNPACKED), stack.enter_context(network())
        service, runner = (stack.enter_context(container(name, base, shared, key)) for name in ("faults", "bench-1"))
        (folder / "inventory").mkdir()
        made = Estate(runner, service, checkout, folder / "inventory", shared, key, checkout.git("rev-parse", "HEAD"))
        played = made.play("site.yml")
        assert played.returncode == 0
        yield made


def in_use(guest: Guest, room: str) -> str:
    """The commit that a host uses."""
    return Path(guest.run(f"readlink /opt/faultwatch/{room}/current").stdout.strip()).name


def test_an_upgrade_waits_for_a_running_job_and_loses_nothing(estate: Estate) -> None:
    api = Api.of(estate.service, NAME)
    before, old = api.get("runs")["total"], estate.revision
    estate.revision = estate.checkout.version(PROGRAM, "# A newer version.\n")
    with ThreadPoolExecutor(1) as pool, measuring(estate.runner) as let_go:
        upgrading = pool.submit(estate.play, "upgrade.yml")
        holding = "systemctl is-active faultwatch-hold@upgrade"
        until(estate.runner, holding, lambda done: upgrading.done() or "activating" in done.stdout, 1800)
        assert not upgrading.done(), "the upgrade did not wait for the job"
        assert in_use(estate.runner, "runner") == in_use(estate.service, "service") == old
        let_go()
    assert upgrading.result().returncode == 0
    assert in_use(estate.runner, "runner") == in_use(estate.service, "service") == estate.revision
    assert api.get("runs")["total"] == before + 1
    assert ": 0 waiting, 0 refused" in estate.runner.run(f"{AS_RUNNER} faultwatch spool").stdout


def test_a_version_that_does_not_work_is_taken_back(estate: Estate) -> None:
    good = in_use(estate.runner, "runner")
    # Where it is built, its commands write their manual pages.
    broken = "if __file__.startswith('/opt/'):\n    raise SystemExit('broken')\n"
    estate.revision = estate.checkout.version(PROGRAM, broken)
    try:
        upgraded = estate.play("upgrade.yml")
    finally:
        estate.revision = good
    assert upgraded.returncode != 0
    assert "bench-1 does not work with the new version" in upgraded.output
    assert in_use(estate.runner, "runner") == in_use(estate.service, "service") == good
    measure(estate.runner)


def test_a_fresh_host_begins_with_a_backup(estate: Estate) -> None:
    before = Api.of(estate.service, NAME).get(f"runs?subject={SUBJECT}")
    estate.service.run("systemctl start faultwatch-care")
    newest = estate.service.run("ls -t /var/backups/faultwatch/*Z.db | head -1").stdout.strip()
    backup = estate.folder / "backup.db"
    backup.write_bytes(estate.service.fetch(newest))
    with container("restored", image(UNPACKED), estate.network, estate.key) as fresh:
        old, estate.service = estate.service, fresh
        try:
            made = estate.play("service.yml", service_restore=str(backup))
        finally:
            estate.service = old
        assert made.returncode == 0
        assert Api.of(fresh, NAME).get(f"runs?subject={SUBJECT}") == before


def test_a_retired_runner_leaves_nothing_behind_but_its_results(estate: Estate) -> None:
    api = Api.of(estate.service, NAME)
    before = api.get("runs")["total"]
    retired = estate.play("retire.yml", retire="bench-1")
    assert retired.returncode == 0
    assert estate.runner.run("id faultwatch", check=False).returncode != 0
    left = (
        "ls -d /opt/faultwatch/runner /usr/local/bin/faultwatch /etc/faultwatch/token /etc/systemd/system/faultwatch-*"
    )
    assert estate.runner.run(f"{left} 2>/dev/null", check=False).stdout == ""
    tokens = estate.service.run("faultwatch-service token list").stdout
    assert "runner bench-1" not in tokens or "revoked" in tokens
    assert api.get("runs")["total"] == before
