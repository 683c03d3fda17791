"""Provides a server with what it needs for one start: a free port, the path of a socket, an empty folder."""

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox
from runner.servers.listening import is_port_open
from runner.system.scratch import make_short_scratch_folder
from runner.system.tree_walk import remove_tree
from runner.workload.bound_server import ServerResources

DATA_FOLDER = "faultwatch-data"
"""The folder for a server's data. It is in the tree in which the server runs, and therefore on a disk, and subject to
the limit on the tree's size."""
_SANDBOX_PORT = 20_000
"""The port in a sandbox, which has its own network."""
_PORTS = range(20_000, 30_000)
"""Ports with the same number of digits, below those that kernels give to clients."""
_MAX_ATTEMPTS = 100
"""How many ports are tried: so many are taken in a row only if nearly all of them are."""


@contextmanager
def provide_resources(tree: Path, sandbox: Sandbox | None) -> Iterator[ServerResources]:
    """Yield the port, the socket's path and the data folder of one start.

    Each of these strings has the same length at every start: a server keeps them in memory, so a different length
    could change its fault count.

    Raises
    ------
    FaultwatchError
        There is no free port, or the folder cannot be created.
    """
    data = tree / DATA_FOLDER
    try:
        _remove_path(data)
        data.mkdir(mode=0o700)
        if sandbox:
            sandbox.change_owner(data)
    except OSError as error:
        raise FaultwatchError(
            f"the server's folder {data} cannot be created: {error.strerror}",
            "see with `faultwatch doctor` whether the disk is full or read-only",
        ) from None
    # The path of a socket is limited to 107 bytes, so the socket cannot be in the tree, whose path may be longer.
    place = nullcontext(Path("/tmp")) if sandbox else make_short_scratch_folder()  # noqa: S108 - the sandbox's own
    try:
        with place as folder:
            port = _SANDBOX_PORT if sandbox else _find_free_port()
            yield ServerResources(str(port), str(folder / "server.sock"), str(data))
    finally:
        with suppress(OSError):
            _remove_path(data)


def _remove_path(path: Path) -> None:
    """Remove whatever is at a path: a server may have replaced the folder by a link or a file."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        remove_tree(path)


def _find_free_port() -> int:
    """Return a port on which nobody listens at any address: another listener would be taken for the ready server.

    It is chosen at random, so that runners seldom choose the same port.

    Raises
    ------
    FaultwatchError
        No free port is found.
    """
    for _ in range(_MAX_ATTEMPTS):
        port = random.choice(_PORTS)  # noqa: S311 - not a secret
        with socket.socket() as attempt:
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
        if not is_port_open(os.getpid(), port):
            return port
    raise FaultwatchError(
        f"no free port was found from {_PORTS[0]} to {_PORTS[-1]}", "stop the programs that listen on these ports"
    )
