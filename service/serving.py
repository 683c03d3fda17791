"""Serves the application with gunicorn, in worker processes with threads."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]
from sqlalchemy.exc import SQLAlchemyError

from service.app import create_app
from service.background import tasks
from service.background.scheduler import BackgroundScheduler
from service.config import notifications
from service.config.settings import Config
from service.config.trusted_hosts import list_trusted_hosts
from service.errors import ServiceError
from service.store.engine.database import BUSY_SECONDS_AT_START, Database
from service.store.engine.error_codes import is_unreachable
from service.store.engine.upgrade import upgrade_database
from service.web import app_resources

THREADS = 8
_MAX_WAITING_CONNECTIONS = 128
"""Connections that the kernel queues while all workers are busy or starting."""
_SYSTEMD_SOCKET = 3
"""The first file descriptor that systemd passes (sd_listen_fds(3)). The service's unit has only one socket."""
STOP_SECONDS = 5
"""How long requests in progress may delay a stop."""
_TASK_STOP_SECONDS = 0.5
"""How long background tasks may delay a stop. Interrupted work is repeated after the next start, as after a kill."""
_PAUSE_SECONDS = 0.5
"""After which a worker tries again to reach an unavailable database."""
log = logging.getLogger(__name__)


def serve(config: Config, host: str, port_file: Path | None = None) -> None:
    """Serve until a signal stops the process.

    Parameters
    ----------
    config
        The settings, which name the database and the port; port 0 means any free port.
    host
        Address to listen on.
    port_file
        File to write the port to, once the service listens.
    """
    notifications.load_notification_settings(config.home, config.notifications.file)  # only to report its errors now
    if port_file is not None:
        _refuse_unwritable_port_file(port_file)
    listener = listen(host, config.port)
    startup_database = Database(config.database_url, BUSY_SECONDS_AT_START)
    upgrade_database(startup_database)
    startup_database.close()

    address, port = listener.getsockname()[:2]

    def when_ready(_: Any) -> None:
        print(f"Faultwatch is serving at http://{_quote_host(address)}:{port}/", flush=True)
        if port_file is not None:
            _write_atomically(port_file, f"{port}\n")

    background: list[BackgroundScheduler] = []  # the scheduler of this worker process, once make_app was called

    def make_app() -> Flask:
        """Make the application of a worker process, and start its background tasks."""
        trusted_hosts = list_trusted_hosts(config.trusted_hosts, str(address))
        app = _make_app_when_database_answers(config.copy_with_values(trusted_hosts=trusted_hosts))
        with app.app_context():
            database = app_resources.get_database()
        background.append(
            tasks.start(app, database, config, f"http://{_quote_host(_find_local_address(address))}:{port}")
        )
        # The existing objects stay alive, so the garbage collector ignores them from now on, and runs rarely: during
        # the parsing of a batch of runs, it would take as long as the parsing.
        gc.freeze()
        gc.set_threshold(100_000, 20, 100)
        # After each database query, a page waits until the judging thread releases the GIL. With Python's default
        # interval of 5 ms, pages take four times as long while series are judged; with this value, twice as long.
        # Judging is not slowed down.
        sys.setswitchinterval(0.0005)
        return app

    def worker_exit(_server: Any, _worker: Any) -> None:
        for scheduler in background:
            scheduler.stop(_TASK_STOP_SECONDS)

    # The application is created in the worker, because a database connection must not be shared across a fork.
    _Server(make_app, listener, config.workers, when_ready, worker_exit).run()


def _make_app_when_database_answers(config: Config) -> Flask:
    """Return an application; while its database cannot be reached, wait and try again.

    gunicorn ends the whole service if a new worker fails, so a restart of the database must not make a worker fail.
    """
    is_reported = False
    while True:
        try:
            # Another machine may have upgraded the database. This service keeps serving, even with new workers.
            return create_app(config, accepts_newer=True)
        except (ServiceError, SQLAlchemyError) as error:
            # The upgrade wraps a database error in a ServiceError, whose cause is the original error.
            database_error: BaseException = error
            if isinstance(error, ServiceError) and error.__cause__ is not None:
                database_error = error.__cause__
            if not is_unreachable(database_error):
                raise
            if not is_reported:
                log.warning("waiting for the database: %s", error)
            is_reported = True
            time.sleep(_PAUSE_SECONDS)


def listen(host: str, port: int) -> socket.socket:
    """Return the socket that systemd passes, or listen on the port.

    This is done before the database is opened, so that a port in use is reported first.
    """
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        # Otherwise gunicorn would use the socket as well.
        del os.environ["LISTEN_PID"]
        return socket.socket(fileno=_SYSTEMD_SOCKET)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_MAX_WAITING_CONNECTIONS)
    except (OSError, TypeError, UnicodeError) as error:  # the last two: a name that cannot be encoded
        # Errors of name resolution have negative numbers, which strerror does not know.
        number = error.errno if isinstance(error, OSError) else None
        reason = os.strerror(number) if number is not None and number > 0 else str(error)
        raise ServiceError(
            "The service cannot listen",
            f"{host} port {port} ({reason})",
            "Choose another port with FAULTWATCH_PORT or --port (0: any free one), or another address with --host; if "
            "the port is in use, you can also stop the program that uses it.",
        ) from error


class _Worker(ThreadWorker):  # type: ignore[misc]
    # gunicorn's quick stop (Ctrl-C) acquires a lock in the signal handler, and deadlocks if the interrupted code holds
    # it. The graceful stop acquires no lock.
    handle_quit = ThreadWorker.handle_exit


class _Server(BaseApplication):  # type: ignore[misc]
    """Runs gunicorn with settings from this module; gunicorn calls the methods below."""

    def __init__(
        self,
        make_app: Callable[[], Flask],
        listener: socket.socket,
        workers: int,
        when_ready: Callable[[Any], None],
        worker_exit: Callable[[Any, Any], None],
    ) -> None:
        self._make_app = make_app
        self._settings = {
            "bind": f"fd://{listener.detach()}",  # gunicorn closes it
            "worker_class": _Worker,
            "workers": workers,
            "threads": THREADS,
            "graceful_timeout": STOP_SECONDS,
            "loglevel": "warning",
            "control_socket_disable": True,
            "when_ready": when_ready,
            "worker_exit": worker_exit,
        }
        super().__init__()

    def load_config(self) -> None:
        """Pass the settings to gunicorn."""
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Return the application of a worker process."""
        return self._make_app()


def _refuse_unwritable_port_file(file: Path) -> None:
    """Refuse an unwritable port file before the service starts, while somebody still reads the message."""
    part = _name_part(file)
    try:
        if file.is_dir():
            raise IsADirectoryError(None, "Is a directory")
        part.touch()
        part.unlink()
    except OSError as error:
        raise ServiceError(
            "The port file cannot be written",
            f"{file} ({error.strerror})",
            "Choose a file in a folder that this user may write to.",
        ) from error


def _write_atomically(path: Path, text: str) -> None:
    """Write a file atomically: no reader sees a part of it."""
    part = _name_part(path)
    part.write_text(text)
    part.replace(path)


def _name_part(path: Path) -> Path:
    """Return the temporary name of a file that is being written."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def _find_local_address(address: str) -> str:
    """Return the address at which this machine reaches a server that listens on ``address``."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - nothing is bound here


def _quote_host(address: str) -> str:
    if address == "::1":
        return "localhost"  # Flask's trusted hosts cannot contain IPv6 addresses.
    return f"[{address}]" if ":" in address else address
