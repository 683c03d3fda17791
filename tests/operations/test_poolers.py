"""Connections to PostgreSQL: how many a machine opens, and what pgbouncer between them does."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import requests
from sqlalchemy.exc import DBAPIError

from bench.store_service import query_number
from service.store.engine.connection_parameters import CONNECTIONS
from service.store.engine.database import Database
from tests.operations import load
from tests.operations.machine import PATIENCE, serving
from tests.service import postgres

WORKERS = 2


class Pooler:
    """pgbouncer on loopback, which can be started again."""

    def __init__(self, folder: Path, server: postgres.Server, mode: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = int(listener.getsockname()[1])
        self.folder = folder
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
        if program is None:
            pytest.skip("pgbouncer is not installed: setup/system-packages operations installs it")
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host={server.folder} user=tests\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
            f"default_pool_size = {WORKERS * CONNECTIONS}\nmax_client_conn = 200\nlogfile = {folder / 'log'}\n"
        )
        folder.chmod(0o755)
        (folder / "log").touch(0o666)
        (folder / "log").chmod(0o666)
        self._command = server.as_its_user(program, settings)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def url(self, name: str) -> str:
        return f"postgresql://tests@127.0.0.1:{self.port}/{name}"


@contextmanager
def pooling(server: postgres.Server, mode: str) -> Iterator[Pooler]:
    """Run pgbouncer until the end of the block."""
    with postgres.folder() as folder:
        pooler = Pooler(folder, server, mode)
        try:
            yield pooler
        finally:
            pooler.kill()


def test_a_machine_opens_so_many_connections_at_most(tmp_path: Path) -> None:
    with postgres.running() as server:
        url, most = server.url(server.create()), 0
        with (
            serving(tmp_path / "home", url, workers=WORKERS) as machine,
            load.sending([machine], 4) as senders,
            ThreadPoolExecutor(24) as pool,
            psycopg.connect(url, autocommit=True) as connection,
        ):
            pages = [
                pool.submit(requests.get, f"{machine.address}{page}", timeout=PATIENCE) for page in load.PAGES * 40
            ]
            while not all(page.done() for page in pages):
                asked = "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
                most = max(most, query_number(connection, asked))
                time.sleep(0.01)
            assert {page.result().status_code for page in pages} == {200}
            for sender in senders:
                sender.finish()
                assert not sender.answers
        assert WORKERS < most <= WORKERS * CONNECTIONS
        print(f"{most} connections of {WORKERS} workers under load, {WORKERS * CONNECTIONS} at most")


def test_the_service_works_through_a_pooler_of_sessions(tmp_path: Path) -> None:
    with postgres.running() as server, pooling(server, "session") as pooler:
        name = server.create()
        url = pooler.url(name)
        with (
            serving(tmp_path / "one", url, workers=1) as one,
            serving(tmp_path / "other", url, workers=1) as other,
            load.sending([one, other]) as senders,
            load.reading([one, other]) as reader,
        ):
            for sender in senders:
                sender.await_more(25)
            pooler.kill()
            answer = requests.get(f"{one.address}/api/v1/health", timeout=PATIENCE)
            assert load.told(answer) == "503 later"
            pooler.start()
            for sender in senders:
                sender.await_more(25)
                sender.finish()
            reader.finish()
            load.settle(server.url(name))
            assert set(reader.answers) <= {"503 later"}
        for sender in senders:
            assert set(sender.answers) <= {"503 later"}
            found, expected = load.steps(server.url(name), sender)
            assert found == expected
        assert load.look(server.url(name)) == load.sound(sum(sender.acknowledged for sender in senders))


def test_a_pooler_of_transactions_breaks_the_locks_of_tasks(tmp_path: Path) -> None:
    """What the documentation says: this test fails when it is no longer so."""
    with postgres.running() as server, pooling(server, "transaction") as pooler:
        name = server.create()
        database = Database(pooler.url(name))
        with database.run_exclusively("events") as ours:
            assert ours
            with database.run_exclusively("events") as again:
                assert again, "both have the same session of the server, so both have the lock"
        with ExitStack() as others, database.engine.connect() as connection:
            for _ in range(10):  # psycopg prepares what is repeated
                connection.exec_driver_sql("SELECT 1").all()
            connection.commit()
            # Somebody else has that session now.
            others.enter_context(psycopg.connect(pooler.url(name))).execute("SELECT 1")
            with pytest.raises(DBAPIError, match="prepared statement"):
                connection.exec_driver_sql("SELECT 1").all()
        database.close()
