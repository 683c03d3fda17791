"""The machine of PostgreSQL vanishes without a word: its packets are lost, and nothing is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from service.app import create_app
from service.config.settings import Config
from service.web import app_resources
from tests.service import postgres, reports
from tests.service.apiclient import Api

NOTICED_WITHIN = 45
"""Seconds: half a minute, and what a busy machine needs."""
CONNECTED_WITHIN = 15
HERE, THERE = "203.0.113.1", "203.0.113.2"
"""Addresses of examples (RFC 5737), so that they are nobody's."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def network() -> Iterator[tuple[str, str]]:
    """A network of two machines: the names of the other one's namespace, and of our end of the cable."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("only root can make a network, with ip of iproute2")
    space, ours = f"fw{os.getpid()}", f"fwl{os.getpid()}"
    ip("netns", "add", space)
    try:
        ip("link", "add", ours, "type", "veth", "peer", "name", "theirs", "netns", space)
        ip("address", "add", f"{HERE}/30", "dev", ours)
        ip("link", "set", ours, "up")
        ip("-netns", space, "address", "add", f"{THERE}/30", "dev", "theirs")
        ip("-netns", space, "link", "set", "theirs", "up")
        yield space, ours
    finally:
        with suppress(subprocess.CalledProcessError):
            ip("link", "delete", ours)
        ip("netns", "delete", space)


def test_requests_are_answered_while_the_machine_of_the_database_is_gone(
    network: tuple[str, str], tmp_path: Path
) -> None:
    space, _ = network
    launcher = ("ip", "netns", "exec", space)
    with postgres.running([f"listen_addresses={THERE}", "port=5432"], launcher) as server:
        server.shell(f'echo "host all all {HERE}/30 trust" >>"$PGDATA/pg_hba.conf"; pg_ctl reload')
        url = f"postgresql://tests@{THERE}/{server.create()}"
        app = create_app(Config.from_environment({"FAULTWATCH_HOME": str(tmp_path), "DATABASE_URL": url}))
        api = Api(app.test_client())
        assert api.send_each(reports.report(1, 100, 100)) == [201]
        ip("-netns", space, "link", "set", "theirs", "down")
        for most in (NOTICED_WITHIN, CONNECTED_WITHIN):
            began = time.monotonic()
            answer = api.put(reports.report(2, 100, 100))
            took = time.monotonic() - began
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
            assert took < most
            print(f"answered within {took:.0f} s")
        ip("-netns", space, "link", "set", "theirs", "up")
        assert api.send_each(reports.report(2, 100, 100)) == [201]
        with app.app_context():
            app_resources.get_database().close()
