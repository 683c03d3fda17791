"""Serves the application with gunicorn: workers with threads."""

from __future__ import annotations

import gc
import ipaddress
import os
import select
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from service import background
from service.app import create_app
from service.config import channels
from service.config.settings import Config
from service.errors import ServiceError
from service.github.extension import queue
from service.jobs import extension as jobs
from service.store.engine.database import BUSY_SECONDS_AT_START, Database
from service.store.engine.upgrade import upgrade
from service.web import current

THREADS = 8
_PASSED_ON = 3
"""The first descriptor that systemd passes on (sd_listen_fds(3)); a unit of ours has one socket."""
STOP_SECONDS = 5
"""How long requests that are being answered may hold a stop up."""


def serve(config: Config, host: str, port_file: Path | None = None, parent: int | None = None) -> None:
    """Serve until told to stop.

    Parameters
    ----------
    config
        Where the data is and which port to serve at; port 0 takes any that is free.
    host
        Address to listen at.
    port_file
        Where to write the port, once it listens.
    parent
        Process to stop with: a service that somebody started for themselves does not outlive them.
    """
    channels.load(config.home, os.environ)  # what is wrong there is said now
    listener = listen(host, config.port)
    database = Database(config.database_url, BUSY_SECONDS_AT_START)
    upgrade(database)
    database.close()

    address, port = listener.getsockname()[:2]

    def when_ready(_: Any) -> None:
        print(f"Faultwatch serves at http://{_in_url(address)}:{port}/", flush=True)
        if port_file is not None:
            _write_atomically(port_file, f"{port}\n")
        if parent is not None:
            _stop_with(parent)

    def make_app() -> Flask:
        app = create_app(replace(config, trusted_hosts=trusted_hosts(config, host)))
        with app.app_context():
            background.start(current.database(), config)
        if (kept := queue(app)) is not None:
            kept.start()
        jobs.start(app, f"http://{_in_url(_reached_at(address))}:{port}")
        # What is there now stays. Looking for garbage again and again while a batch of runs is read takes as long as
        # reading it.
        gc.freeze()
        gc.set_threshold(100_000, 20, 100)
        return app

    # The application is made in the worker: a database connection must not cross a fork.
    _Server(make_app, listener, config.workers, when_ready).run()


def listen(host: str, port: int) -> socket.socket:
    """Take the port, before anything is written anywhere; or what systemd listens with for this process."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        # gunicorn would take it as well.
        del os.environ["LISTEN_PID"]
        return socket.socket(fileno=_PASSED_ON)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise ServiceError(
            "The service cannot listen",
            f"{host} port {port} ({os.strerror(error.errno) if error.errno and error.errno > 0 else error})",
            "Stop what holds the port, or choose another with FAULTWATCH_PORT or --port (0: any free one).",
        ) from error


def trusted_hosts(config: Config, host: str) -> tuple[str, ...] | None:
    """Return the names to answer to: those of loopback, unless the service is opened to others."""
    try:
        opened = not ipaddress.ip_address(host).is_loopback
    except ValueError:
        opened = host != "localhost"
    return None if opened else config.trusted_hosts


class _Worker(ThreadWorker):  # type: ignore[misc]
    # gunicorn's quick stop (Ctrl-C) takes a lock in the signal handler that the code it interrupted may hold: it then
    # hangs. The graceful stop takes none.
    handle_quit = ThreadWorker.handle_exit


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(
        self, make_app: Callable[[], Flask], listener: socket.socket, workers: int, when_ready: Callable[[Any], None]
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
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._settings.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return self._make_app()


def _stop_with(process: int) -> None:
    """Stop this process when the other one ends."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return

    def wait() -> None:
        select.select([handle], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True, name="parent").start()


def _write_atomically(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def _reached_at(address: str) -> str:
    """Return the address at which this machine itself reaches what listens at an address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - nothing is bound here


def _in_url(address: str) -> str:
    if address == "::1":
        return "localhost"  # Flask cannot trust an IPv6 address by name
    return f"[{address}]" if ":" in address else address
