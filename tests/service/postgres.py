"""Debian's PostgreSQL for a test session: in its own folder, at a socket there, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

PATIENCE = 60
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
"""A folder in memory, and the room that the databases of several processes may take."""
_ORDINARY = ("postgres", "nobody")
_QUICK = ("fsync=off", "listen_addresses=")
"""Settings that survive a kill, and no power cut: what a commit wrote is the kernel's to keep."""


def binaries() -> Path:
    """Return the folder of the newest PostgreSQL here."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda file: float(file.parts[-3]))
    assert found, "PostgreSQL is not installed: setup/system-packages tests installs it"
    return found[-1].parent


class Server:
    """A server that can be killed and started again.

    Attributes
    ----------
    folder
        Where its socket is, and its log.
    data
        Where it keeps everything.
    """

    def __init__(
        self, folder: Path, user: pwd.struct_passwd | None, settings: Sequence[str], launcher: Sequence[str] = ()
    ) -> None:
        self.folder, self.data = folder, folder / "data"
        self._launcher = launcher
        self._user, self._settings = user, (*_QUICK, *settings)
        ports = [setting.partition("=")[2] for setting in settings if setting.startswith("port=")]
        self._port = ports[0] if ports else "5432"
        self._numbers = count(1)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [argument for setting in self._settings for argument in ("-c", setting)]
        data = ("-D", self.data, "-k", self.folder)
        launcher = (*self._launcher, "setpriv", *_as(self._user), "--pdeathsig", "QUIT")
        command = [*launcher, binaries() / "postgres", *data, *settings]
        with (self.folder / "log").open("a") as log:
            self._process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)
        _wait_for(self, self._process, self.folder / "log")

    def as_its_user(self, *command: object) -> list[str]:
        """Return a command that runs as the user of the server, and ends with this process."""
        return [str(word) for word in ("setpriv", *_as(self._user), "--pdeathsig", "KILL", *command)]

    def shell(self, script: str, **variables: object) -> str:
        """Run a shell script as the user of the server, whose tools it finds; return what it printed."""
        connection = {
            "PGHOST": self.folder,
            "PGPORT": self._port,
            "PGUSER": "tests",
            "PGDATABASE": "postgres",
            "PGDATA": self.data,
        }
        environment = {"PATH": f"{binaries()}:{os.environ['PATH']}", **connection, **variables}
        done = subprocess.run(
            ["setpriv", *_as(self._user), "bash", "-eu", "-o", "pipefail", "-c", script],
            env={name: str(value) for name, value in environment.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd="/",
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    @property
    def process(self) -> int:
        """Number of its main process."""
        return self._process.pid

    def kill(self) -> None:
        """End all of its processes with no warning."""
        self._process.send_signal(signal.SIGSTOP)  # it makes no more processes
        children = list(map(int, Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()))
        self._process.kill()
        self._process.wait()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        # While any of them has its memory, another server does not start.
        deadline = time.monotonic() + PATIENCE
        while any(map(_is_alive, children)):
            assert time.monotonic() < deadline, "a process outlives its death"
            time.sleep(0.01)

    def stop(self) -> None:
        """End it at once: nothing has to be kept."""
        self._process.send_signal(signal.SIGQUIT)
        try:
            self._process.wait(PATIENCE / 4)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return f"postgresql://tests@/{name}?host={self.folder}&port={self._port}"

    def create(self, template: str = "template1") -> str:
        """Make a database, as a copy of another; return its name."""
        name = f"faultwatch_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return name


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def running(settings: Sequence[str] = (), launcher: Sequence[str] = (), parent: Path | None = None) -> Iterator[Server]:
    """Run a server that ends with this process, however that ends.

    Parameters
    ----------
    settings
        Further ones, as ``name=value``.
    launcher
        The beginning of the command that starts it.
    parent
        Where it keeps its folder, if not among other temporary files.
    """
    user = _ordinary_user()
    with folder(parent) as made:
        _call(user, binaries() / "initdb", "--auth=trust", "--username=tests", "--no-sync", "-D", made / "data")
        yield from _until_done(Server(made, user, settings, launcher))


@contextmanager
def copied(copy: Callable[[Path], None], settings: Sequence[str] = ()) -> Iterator[Server]:
    """Run a server on a folder that is made by a function, such as a standby."""
    user = _ordinary_user()
    with folder() as made:
        copy(made / "data")
        yield from _until_done(Server(made, user, settings))


def _until_done(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for the user of the servers, and remove it in the end."""
    user = _ordinary_user()
    made = Path(tempfile.mkdtemp(prefix="faultwatch-pg-", dir=parent))
    if user is not None:
        os.chown(made, user.pw_uid, user.pw_gid)
    try:
        yield made
    finally:
        shutil.rmtree(made)


def find_memory() -> Path | None:
    """Return a folder in memory, if there is room: each database is 600 files, which are slow to make on a disk."""
    has_room = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    return _MEMORY if has_room else None


def _ordinary_user() -> pwd.struct_passwd | None:
    """Return the user to become: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return pwd.getpwnam(next(name for name in _ORDINARY if name in names))


def _as(user: pwd.struct_passwd | None) -> list[str]:
    if user is None:
        return []
    return [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _call(user: pwd.struct_passwd | None, *command: object) -> None:
    arguments = ["setpriv", *_as(user), *map(str, command)]
    subprocess.run(arguments, check=True, capture_output=True, timeout=PATIENCE, cwd="/")


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(server.url("postgres")).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
