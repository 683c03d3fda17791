"""The service as a real process."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import requests

from service.config.settings import Config
from service.errors import ServiceError
from service.serving import _make_app_when_database_answers
from service.web import app_resources
from tests.service import postgres, reports
from tests.service.web.application import empty_database

COMMAND = [sys.executable, "-m", "service"]
PATIENCE = 30


class Service:
    """A service in its own process."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.home, self.port_file = folder / "home", folder / "port"
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--port-file", str(self.port_file), *options],
            env=environment(self.home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def address(self) -> str:
        deadline = time.monotonic() + PATIENCE
        while not self.port_file.exists():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return f"http://127.0.0.1:{int(self.port_file.read_text())}"

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "FAULTWATCH_HOME": str(home)}


def refused(home: Path, *arguments: str, **variables: str) -> str:
    """Run the command where it cannot work; return the one line that it says."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(home) | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start services in one folder, one after the other; none outlives the test."""
    started: list[Service] = []

    def begin(*options: str) -> Service:
        (tmp_path / "port").unlink(missing_ok=True)
        started.append(Service(tmp_path, *options))
        return started[-1]

    yield begin
    for service in started:
        if service.process.poll() is None:
            service.stop()
        service.process.communicate()


def test_serves_refuses_a_body_that_is_too_large_and_keeps_what_it_was_sent(start: Callable[..., Service]) -> None:
    service = start()
    report = reports.report(1, 100, 100)
    answer = requests.put(
        f"{service.address}/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"), timeout=PATIENCE
    )
    assert answer.status_code == 201
    too_large = requests.put(
        f"{service.address}/api/v1/subjects/demo/revisions",
        data=b" " * (64 * 1024 * 1024 + 1),
        headers={"Content-Type": "application/json"},
        timeout=PATIENCE,
    )
    assert (too_large.status_code, too_large.headers["Content-Type"]) == (413, "application/problem+json")
    assert service.stop() == 0
    again = start()
    assert requests.get(f"{again.address}/api/v1/runs", timeout=PATIENCE).json()["total"] == 1
    assert again.stop(signal.SIGINT) == 0
    said, complained = again.process.communicate()
    assert said == f"Faultwatch is serving at {again.address}/\n"
    assert complained == ""


def test_stops_with_its_parent(start: Callable[..., Service]) -> None:
    with subprocess.Popen(["sleep", "60"]) as parent:
        service = start("--parent", str(parent.pid))
        assert requests.get(f"{service.address}/api/v1/health", timeout=PATIENCE).ok
        parent.kill()
    assert service.process.wait(PATIENCE) == 0


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        line = refused(tmp_path / "home", "serve", "--port", port, "--port-file", str(tmp_path / "port"))
    assert f"127.0.0.1 port {port} (Address already in use)" in line
    assert "--port" in line
    assert list(tmp_path.iterdir()) == []


def test_a_locked_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "faultwatch.db").write_bytes(empty_database())
    with closing(sqlite3.connect(home / "faultwatch.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        line = refused(home, "serve", "--port", "0")
    assert "The database is locked" in line


def test_a_port_that_is_none(tmp_path: Path) -> None:
    assert "FAULTWATCH_PORT=http" in refused(tmp_path, "serve", FAULTWATCH_PORT="http")


def test_it_takes_the_socket_that_systemd_listens_with(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, port_file = listener.getsockname()[1], tmp_path / "port"
        # As sd_listen_fds(3) has it: the first descriptor is the third, and the process knows that it is meant.
        told = f'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&{listener.fileno()}'
        process = subprocess.Popen(
            ["bash", "-c", told, "sh", *COMMAND, "serve", "--port", "1", "--port-file", str(port_file)],
            env=environment(tmp_path / "home"),
            pass_fds=[listener.fileno()],
        )
    try:
        # The socket holds those who call before the service is there.
        answer = requests.get(f"http://127.0.0.1:{port}/api/v1/health", timeout=PATIENCE)
        assert answer.json()["status"] == "ok"
        assert int(port_file.read_text()) == port
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_worker_that_starts_while_postgresql_is_away_waits_for_it(tmp_path: Path) -> None:
    with postgres.running() as server, ThreadPoolExecutor(1) as pool:
        config = Config(home=tmp_path, database_url=server.url(server.create()))
        server.kill()
        made = pool.submit(_make_app_when_database_answers, config)
        time.sleep(1)
        assert not made.done()
        server.start()
        with made.result(60).app_context():
            app_resources.get_database().close()


def test_a_worker_whose_database_is_none_fails_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no database, and long enough for SQLite to see that" * 20)
    with pytest.raises(ServiceError, match="not a database"):
        _make_app_when_database_answers(Config(home=tmp_path, database_url=f"sqlite:///{tmp_path / 'file'}"))
