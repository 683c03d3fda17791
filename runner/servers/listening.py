"""Finds out from the kernel's lists of sockets where programs listen, without connecting to them.

A connection would cause work in the server that does not belong to its load.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

_TCP_LISTEN = "0A"
"""The state of a socket that listens, ``TCP_LISTEN`` in the kernel."""
_UNIX_ACCEPTS = 0x10000
"""The flag of a socket that listens, ``__SO_ACCEPTCON`` in the kernel."""


def is_port_open(pid: int, port: int, proc: Path = Path("/proc")) -> bool:
    """Return whether a process in the network namespace of ``pid`` listens on a TCP port."""
    for name in ("tcp", "tcp6"):
        for line in _read_lines(proc / str(pid) / "net" / name):
            # "0: 0100007F:4E20 00000000:0000 0A …"
            fields = line.split()
            if len(fields) > 3 and fields[3] == _TCP_LISTEN and fields[1].rpartition(":")[2] == f"{port:04X}":
                return True
    return False


def is_socket_open(pid: int, path: str, proc: Path = Path("/proc")) -> bool:
    """Return whether a process in the network namespace of ``pid`` listens on a Unix socket."""
    return any(listener_path == path for _, listener_path in _list_unix_listeners(proc / str(pid)))


class Listener(Struct, frozen=True, order=True):
    """Where a program listens: on a TCP port, or on a Unix socket at a path."""

    port: int = 0
    path: str = ""

    @property
    def description(self) -> str:
        """The listener in words."""
        return f"port {self.port}" if self.port else f"the socket {self.path}"


def find_listeners(processes: Sequence[int], proc: Path = Path("/proc")) -> list[Listener]:
    """Return where these processes listen, ports first. Other processes in their network are left out."""
    socket_inodes = {inode for pid in processes for inode in _list_socket_inodes(proc / str(pid) / "fd")}
    listeners = set()
    # All of them are in the same network namespace, so the lists of the first process contain the sockets of all.
    for pid in processes[:1]:
        for name in ("tcp", "tcp6"):
            for line in _read_lines(proc / str(pid) / "net" / name):
                fields = line.split()  # Field 9, counted from 0, is the inode of the socket.
                if len(fields) > 9 and fields[3] == _TCP_LISTEN and fields[9] in socket_inodes:
                    listeners.add(Listener(port=int(fields[1].rpartition(":")[2], 16)))
        listeners.update(
            Listener(path=path) for inode, path in _list_unix_listeners(proc / str(pid)) if inode in socket_inodes
        )
    return sorted(listeners, key=lambda listener: (not listener.port, listener))


def _list_unix_listeners(process: Path) -> Iterator[tuple[str, str]]:
    """Yield the inode and the path of each listening Unix socket in the network namespace of a process."""
    for line in _read_lines(process / "net" / "unix"):
        # "0000000000000000: 00000002 00000000 00010000 0001 01 41 /tmp/server.sock"
        fields = line.split(maxsplit=7)
        with suppress(ValueError):  # The kernel prints a line feed in a name as it is: the rest of it is no socket.
            if len(fields) == 8 and int(fields[3], 16) & _UNIX_ACCEPTS:
                yield fields[6], fields[7]


def _list_socket_inodes(folder: Path) -> Iterator[str]:
    """Yield the inodes of the sockets that a process has open, written as in the kernel's lists."""
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(OSError):
                target = str(file.readlink())
                if target.startswith("socket:["):
                    yield target[len("socket:[") : -1]


def _read_lines(file: Path) -> list[str]:
    """Return the lines of one of the kernel's lists of sockets, without its heading; empty if it cannot be read."""
    with suppress(OSError):
        # str.splitlines() would also split at characters within names.
        return file.read_text(encoding="utf-8", errors="replace").split("\n")[1:]
    return []
