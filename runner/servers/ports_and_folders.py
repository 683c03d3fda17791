"""Gives a server what it needs for one start: a free port, the path of a socket, an empty folder."""

import random
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox
from runner.system.tree_walk import remove_tree
from runner.workload.bound_case import ServerResources

DATA_FOLDER = "faultwatch-data"
"""The folder of a server's data, in the tree in which it runs, so that it lies on a disk and is limited with the
tree."""
_SANDBOX_PORT = 20_000
"""The port in a sandbox, which has a network to itself."""
_PORTS = range(20_000, 30_000)
"""Ports of one length, below those that kernels give to clients."""
_MAX_ATTEMPTS = 100


@contextmanager
def provide_resources(tree: Path, sandbox: Sandbox | None) -> Iterator[ServerResources]:
    """Yield the port, the socket's path and the data folder of one start.

    Each text has the same length at each start, because the server keeps it in memory.

    Raises
    ------
    FaultwatchError
        There is no free port, or the folder cannot be made.
    """
    data = tree / DATA_FOLDER
    try:
        _remove_path(data)
        data.mkdir(mode=0o700)
        if sandbox:
            sandbox.change_owner(data)
    except OSError as error:
        raise FaultwatchError(f"the folder {data} of the server cannot be created: {error.strerror}") from None
    # A path of a socket is limited to 107 bytes, so it cannot lie in the tree.
    folder = None if sandbox else Path(tempfile.mkdtemp(prefix="faultwatch-"))
    try:
        port = _SANDBOX_PORT if sandbox else _find_free_port()
        yield ServerResources(str(port), str((folder or Path("/tmp")) / "server.sock"), str(data))  # noqa: S108
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            _remove_path(data)


def _remove_path(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        remove_tree(folder)


def _find_free_port() -> int:
    for _ in range(_MAX_ATTEMPTS):
        port = random.choice(_PORTS)  # noqa: S311 - not a secret
        with socket.socket() as attempt:
            try:
                attempt.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise FaultwatchError(
        f"no free port was found from {_PORTS[0]} to {_PORTS[-1]}", "stop the programs that listen on these ports"
    )
