"""The other Debian that the roles know: everything from bare hosts to a result, and nothing to do after that."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.hosts.api import Api
from tests.hosts.container import container
from tests.hosts.image import image
from tests.hosts.network import network
from tests.hosts.playbook import head, inventory, play
from tests.hosts.ssh import Key

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"


def test_debian_13() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        key, base, shared = Key.fresh(folder), image(suite="trixie"), stack.enter_context(network())
        service, runner = (stack.enter_context(container(name, base, shared, key)) for name in ("faults", "bench-1"))
        hosts = inventory(
            folder,
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
