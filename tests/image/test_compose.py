"""compose.yaml, as it is: the service and PostgreSQL start in order, and data outlives both."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.image.base import base
from tests.image.podman import LIMITS, RUNTIME, Container, podman
from tests.wheel.installation import ROOT

pytestmark = pytest.mark.skipif(not os.environ.get("FAULTWATCH_TEST_IMAGE"), reason="make test-image runs it")
# Debian's PostgreSQL behind the variables of the image that compose.yaml names.
_DATABASE = """
FROM {base}
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql
COPY start /usr/local/bin/
ENTRYPOINT ["start"]
"""
_START = """#!/bin/sh
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
data=/var/lib/postgresql/data
if [ ! -e $data/PG_VERSION ]; then
    chown postgres $data
    echo "$POSTGRES_PASSWORD" >/tmp/password
    chown postgres /tmp/password
    setpriv --reuid=postgres --regid=postgres --init-groups initdb --username="$POSTGRES_USER" \\
        --encoding=UTF8 --locale=C.UTF-8 --auth=scram-sha-256 --pwfile=/tmp/password $data
    echo "host all all all scram-sha-256" >>$data/pg_hba.conf
    echo "CREATE DATABASE $POSTGRES_DB;" |
        setpriv --reuid=postgres --regid=postgres --init-groups postgres --single -D $data postgres
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -D $data -c listen_addresses='*'
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image of the database."""
    context = tmp_path_factory.mktemp("database")
    (context / "Containerfile").write_text(_DATABASE.format(base=base()))
    (context / "start").write_text(_START)
    (context / "start").chmod(0o755)
    name = "localhost/faultwatch-test-database:latest"
    podman("build", "--isolation", "chroot", "--network", "host", "--tag", name, str(context))
    return name


class Compose:
    """One project of compose.yaml, with its own names and port."""

    def __init__(self, folder: Path, image: str, database: str) -> None:
        self.project = f"faultwatch-{uuid4().hex[:8]}"
        self.folder = folder
        shutil.copy(ROOT / "compose.yaml", folder)
        self.variables = {
            **{name: value for name, value in os.environ.items() if not name.startswith("FAULTWATCH_")},
            "FAULTWATCH_IMAGE": image,
            "POSTGRES_IMAGE": database,
            "FAULTWATCH_DATABASE_PASSWORD": uuid4().hex,
            "FAULTWATCH_PORT": "18473",
            "FAULTWATCH_WORKERS": "1",
        }

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run podman-compose."""
        options = [f"--podman-args={word}" for word in RUNTIME]
        options += [f"--podman-run-args={word}" for word in LIMITS]
        return subprocess.run(
            [str(Path(sys.executable).with_name("podman-compose")), *options, "--project-name", self.project, *words],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def names(self) -> list[str]:
        """Return the names of its containers."""
        label = f"label=io.podman.compose.project={self.project}"
        return podman("ps", "--all", "--filter", label, "--format", "{{.Names}}").stdout.split()

    @contextmanager
    def up(self) -> Iterator[Container]:
        """Start it; yield the service's container, and remove the containers in the end."""
        with _health_checks(self):
            done = self.run("up", "--detach", "--no-build")
            assert done.returncode == 0, done.stdout + done.stderr
            (name,) = (name for name in self.names() if re.search("service", name))
            try:
                container = Container(name)
                container.wait_until_healthy()
                yield container
            finally:
                self.run("down")


@contextmanager
def _health_checks(compose: Compose) -> Iterator[None]:
    """Run the health checks, which podman leaves to timers of systemd: not every machine has it."""
    stop = threading.Event()

    def check() -> None:
        while not stop.wait(1):
            for name in compose.names():
                podman("healthcheck", "run", name, check=False)

    thread = threading.Thread(target=check)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_service_and_database_start_and_data_outlives_both(image: str, database: str, tmp_path: Path) -> None:
    compose = Compose(tmp_path, image, database)
    try:
        with compose.up() as service:
            token = service.run("faultwatch-service", "token", "new", "you", "--scope", "admin").stdout.split()[-1]
            assert service.ask("/api/v1/drifts", token)[0] == 200
            assert "faultwatch.db" not in service.run("ls", "/data").stdout
            assert service.run("touch", "/x", check=False).returncode != 0
        with compose.up() as service:
            assert service.ask("/api/v1/drifts", token)[0] == 200
            assert service.ask("/api/v1/drifts")[0] == 401
    finally:
        compose.run("down")
        podman("volume", "rm", "--force", f"{compose.project}_data", f"{compose.project}_database")


def test_a_start_without_a_password_is_refused(tmp_path: Path) -> None:
    compose = Compose(tmp_path, "x", "x")
    del compose.variables["FAULTWATCH_DATABASE_PASSWORD"]
    done = compose.run("config")
    assert done.returncode != 0
    assert "FAULTWATCH_DATABASE_PASSWORD" in done.stderr
