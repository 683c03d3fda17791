"""The other Debian that the roles know: everything from bare hosts to a result, and nothing to do after that."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.hosts.api import Api
from tests.hosts.container import containers
from tests.hosts.playbook import head, inventory, play

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"


def test_debian_13() -> None:
    with containers("faults", "bench-1", suite="trixie") as guests, tempfile.TemporaryDirectory() as folder:
        service, runner = guests["faults"], guests["bench-1"]
        hosts = inventory(
            Path(folder),
            {"runners": [runner], "service": [service]},
            {
                "service_name": NAME,
                "service_tls": "internal",
                "base_addresses": {NAME: service.address},
                "release_revision": head(),
            },
        )
        made = play("site.yml", hosts)
        assert made.returncode == 0
        assert Api.of(service, NAME).get("runs?host=bench-1")["total"] >= 1
        again = play("site.yml", hosts)
        assert (again.returncode, again.changed) == (0, [])
