"""Its own machine, from its first boot to its first accepted result, and from one configuration to another.

The service is in a container, so that only the runner is emulated. The tests build upon each other, in this order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.api import Api
from tests.hosts.container import container
from tests.hosts.image import UNPACKED, image
from tests.hosts.machine import machine, rebooted
from tests.hosts.network import network
from tests.hosts.playbook import Played, head, inventory, play
from tests.hosts.ssh import Guest, Key
from tests.hosts.touching import SUBJECT, measure

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"
PAGE, HUGE_PAGE, TOUCHED = 4096, 2 << 20, 64 << 20
KEPT_FREE = {"tuning_isolated_cpus": "1"}


@dataclass(frozen=True)
class Estate:
    """A runner and its service, both made by one command."""

    runner: Guest
    service: Guest
    hosts: Path
    made: Played
    api: Api

    def runs(self, subject: str) -> list[dict[str, Any]]:
        """Return the runs of a subject, the newest first."""
        found: list[dict[str, Any]] = self.api.get(f"runs?subject={subject}")["items"]
        return found


@pytest.fixture(scope="module")
def estate() -> Iterator[Estate]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        key, base = Key.fresh(folder), image(UNPACKED)
        service = stack.enter_context(container("faults", base, stack.enter_context(network()), key))
        runner = stack.enter_context(machine("bench-1", base, key))
        assert "isolcpus" not in runner.run("cat /proc/cmdline").stdout
        hosts = inventory(
            folder,
            {"runners": [runner], "service": [service]},
            {
                "service_name": NAME,
                "service_tls": "internal",
                "base_addresses": {NAME: service.address},
                "release_revision": head(),
                "matrix_configurations": {
                    "small": {"tuning_huge_pages": "never", **KEPT_FREE},
                    "huge": {"tuning_huge_pages": "always", **KEPT_FREE},
                },
                "matrix_configuration": "small",
            },
        )
        made = play("site.yml", hosts)
        assert made.returncode == 0
        yield Estate(runner, service, hosts, made, Api.of(service, NAME))


def test_one_command_ends_in_an_accepted_result(estate: Estate) -> None:
    assert all(counts["failed"] == 0 for counts in estate.made.recap.values())
    first = estate.api.get("runs?host=bench-1")
    assert first["total"] >= 1
    for run in first["items"]:
        assert (run["outcome"], run["quarantine"]) == ("measured", None)
        report = estate.api.get(f"runs/{run['run_id']}")
        assert report["mismatches"] == []
        assert all(count["counted"][0] == count["expected"] for count in report["canary"]["counts"])


def test_the_kernel_was_started_with_what_was_asked_for(estate: Estate) -> None:
    assert "nohz_full=1" in estate.runner.run("cat /proc/cmdline").stdout.split()
    assert estate.runner.run("cat /sys/devices/system/cpu/isolated").stdout.strip() == "1"


def test_what_was_made_is_verified(estate: Estate) -> None:
    verified = play("verify.yml", estate.hosts)
    assert verified.returncode == 0


def test_a_second_run_changes_nothing(estate: Estate) -> None:
    again = play("site.yml", estate.hosts)
    assert (again.returncode, again.changed) == (0, [])


def test_another_configuration_is_what_a_drift_is_blamed_on(estate: Estate) -> None:
    measure(estate.runner)
    tuned = play("tune.yml", estate.hosts, matrix_configuration="huge")
    assert tuned.returncode == 0
    rebooted(estate.runner)
    assert "[always]" in estate.runner.run("cat /sys/kernel/mm/transparent_hugepage/enabled").stdout
    measure(estate.runner)

    drifts = estate.api.get("drifts?metric=minor-faults")["items"]
    assert [drift["cause"] for drift in drifts] == ["config"]
    assert drifts[0]["host"] == "bench-1"
    assert [setting["name"] for setting in drifts[0]["settings"]] == ["thp.enabled"], drifts[0]["settings"]
    assert (drifts[0]["settings"][0]["before"], drifts[0]["settings"][0]["after"]) == ("never", "always")
    # What the program touches is a fault a page before, and one a huge page after; the rest is starting up.
    saved = TOUCHED // PAGE - TOUCHED // HUGE_PAGE
    assert abs(drifts[0]["change"] + saved) < 100
    assert all(run["quarantine"] is None for run in estate.runs(SUBJECT))


def test_a_setting_that_is_changed_by_hand_is_a_mismatch_in_the_next_run(estate: Estate) -> None:
    estate.runner.run("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
    measure(estate.runner)
    report = estate.api.get(f"runs/{estate.runs(SUBJECT)[0]['run_id']}")
    assert report["mismatches"] == [{"name": "thp.enabled", "declared": "always", "actual": "madvise"}]
    shown = estate.api.shown("hosts/bench-1.json")["host"]
    assert [setting["name"] for setting in shown["mismatches"]] == ["thp.enabled"]
    verified = play("verify.yml", estate.hosts, matrix_configuration="huge")
    assert verified.returncode != 0
    assert "thp.enabled" in verified.output
