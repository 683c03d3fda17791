"""The roles on hosts that boot: looked at, applied, applied again, and verified over ssh as a user would.

In containers, whose knobs are this machine's: what sets knobs is tested on an emulated machine (tests/hosts). The tests
build upon each other, in this order.
"""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.container import containers
from tests.hosts.image import UNPACKED
from tests.hosts.playbook import ROOT, Played, inventory, play
from tests.hosts.ssh import Guest

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"
VERSION = "2.300.0"
# What stands in for the runner of GitHub Actions: it keeps what it was told, and waits for a job.
CONFIG = """#!/bin/sh
echo "$@" >>"$HOME/told"
case $1 in remove) rm .runner ;; *) touch .runner ;; esac
"""
RUN = """#!/bin/sh
exec sleep infinity
"""


@dataclass
class Estate:
    """A runner and a service, and the inventory that names them."""

    runner: Guest
    service: Guest
    hosts: Path

    def play(self, name: str, *options: str, **variables: object) -> Played:
        """Run a playbook against both."""
        return play(name, self.hosts, *options, **variables)


def archive() -> bytes:
    """A stand-in for the archive of actions/runner."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in (("./config.sh", CONFIG), ("./run.sh", RUN)):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = 0o755, len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    folder = tmp_path_factory.mktemp("estate")
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    packed = archive()
    (folder / "runner.tar.gz").write_bytes(packed)
    with containers("bench-1", "service-1", packages=UNPACKED) as guests:
        runner, service = guests["bench-1"], guests["service-1"]
        runner.run("base64 --decode >/root/runner.tar.gz", stdin=_base64(packed))
        hosts = inventory(
            folder,
            {"runners": [runner], "service": [service]},
            {
                "release_revision": revision.stdout.strip(),
                "service_name": NAME,
                "service_tls": "internal",
                "base_addresses": {NAME: service.address},
                "github_runner_repository": "owner/name",
                "github_runner_version": VERSION,
                "github_runner_address": "file:///root/runner.tar.gz",
                "github_runner_checksum": hashlib.sha256(packed).hexdigest(),
                "github_runner_token": "made-by-hand",
            },
        )
        yield Estate(runner, service, hosts)


def _base64(data: bytes) -> str:
    return base64.encodebytes(data).decode()


def test_a_dry_run_on_bare_hosts_changes_nothing(estate: Estate) -> None:
    played = estate.play("site.yml", "--check")
    assert played.returncode == 0, played.output[-5000:]
    assert "fatal" not in played.output
    assert estate.runner.run("ls /etc/faultwatch /opt/faultwatch", check=False).returncode != 0


@pytest.mark.parametrize("playbook", ["tune.yml", "upgrade.yml", "verify.yml"])
def test_what_looks_after_hosts_takes_none_that_was_never_made(estate: Estate, playbook: str) -> None:
    played = estate.play(playbook)
    assert played.returncode != 0
    assert "never made" in played.output
    assert played.changed == []


def test_a_runner_is_not_made_before_its_service(estate: Estate) -> None:
    played = estate.play("runner.yml")
    assert played.returncode != 0
    assert "service-1, which gives bench-1 its token, was never made a service" in " ".join(played.output.split())
    assert played.changed == []


def test_one_command_leads_to_a_first_result(estate: Estate) -> None:
    played = estate.play("site.yml")
    assert played.returncode == 0, played.output[-5000:]
    token = estate.service.run("faultwatch-service token new reader --scope read").stdout.strip()
    runs = estate.service.run(f"curl -s -H 'Authorization: Bearer {token}' http://127.0.0.1:8080/api/v1/runs").stdout
    assert '"bench-1"' in runs
    assert '"image_filter' in runs


def test_the_second_run_changes_nothing(estate: Estate) -> None:
    for options in ((), ("--check", "--diff")):
        played = estate.play("site.yml", *options)
        assert played.returncode == 0, played.output[-5000:]
        assert played.changed == []


def test_a_runner_has_no_web_and_no_database(estate: Estate) -> None:
    program = "/opt/faultwatch/runner/current/.venv/bin/python -c 'import {}'"
    assert estate.runner.run(program.format("runner.cli")).returncode == 0
    for package in ("flask", "sqlalchemy", "numpy"):
        assert estate.runner.run(program.format(package), check=False).returncode != 0


def test_jobs_of_actions_read_no_token(estate: Estate) -> None:
    assert estate.runner.run("systemctl is-active faultwatch-actions").stdout.strip() == "active"
    told = estate.runner.run("cat /var/lib/faultwatch-actions/told").stdout
    assert "--url https://github.com/owner/name --token made-by-hand --name bench-1 --labels faultwatch,bench-1" in told
    for file in ("/etc/faultwatch/token", "/etc/faultwatch/actions/given"):
        assert estate.runner.run(f"runuser -u faultwatch-actions -- cat {file}", check=False).returncode != 0


def test_a_session_holds_an_upgrade_up_and_an_upgrade_a_session(estate: Estate) -> None:
    session = "/usr/local/libexec/faultwatch/session"
    estate.runner.run(f"systemd-run --quiet --unit=test-session {session} sleep infinity")
    hold = "timeout 3 systemctl start faultwatch-hold@test"
    assert estate.runner.run(hold, check=False).returncode == 124
    estate.runner.run("systemctl stop test-session && systemctl start faultwatch-hold@test")
    assert estate.runner.run(f"timeout 2 {session} true", check=False).returncode == 124
    estate.runner.run(f"systemctl stop faultwatch-hold@test && {session} true")


def test_a_backup_is_taken_and_can_be_restored(estate: Estate) -> None:
    estate.service.run("systemctl start faultwatch-care")
    assert estate.service.run("ls /var/backups/faultwatch").stdout.strip().endswith("Z.db")


def test_verify_names_what_does_not_hold(estate: Estate) -> None:
    estate.runner.run("""echo '{"knobs": {"vm.swappiness": "99"}}' >/etc/faultwatch/knobs.json""")
    estate.runner.run("echo nonsense >/etc/faultwatch/token")
    played = estate.play("verify.yml")
    assert played.returncode != 0
    assert "knob vm.swappiness" in played.output
    assert "it answers this host: 401" in played.output
    estate.runner.run("rm /etc/faultwatch/token /etc/faultwatch/knobs.json")
    assert estate.play("runner.yml").returncode == 0
    assert estate.play("verify.yml").returncode == 0
