"""A network for guests that are containers: a bridge on this machine, and a way out that needs no root and no NAT."""

from __future__ import annotations

import itertools
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def ended(process: subprocess.Popen[bytes], signal_number: int = signal.SIGTERM, seconds: float = 30) -> None:
    """End a process by a signal, by force where it does not listen."""
    if process.poll() is None:
        process.send_signal(signal_number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def started(*command: str, log: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a process that ends when this one does, however that ends."""
    with (log or Path("/dev/null")).open("ab") as output:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the tests, which then end it in order.
        )


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@dataclass(frozen=True)
class Network:
    """A bridge and its addresses: guests meet each other there, and this machine, and emulated ones by it."""

    number: int
    hosts: Iterator[int]

    @property
    def bridge(self) -> str:
        """The name of the bridge."""
        return f"fwhosts{self.number}"

    @contextmanager
    def joined(self) -> Iterator[tuple[Path, str]]:
        """Yield a network namespace that is on the bridge and on the internet: its path, and its address."""
        host = next(self.hosts)
        address = f"10.213.{self.number}.{host}"
        outside, inside = f"fwh{self.number}-{host}", "bridge0"
        with started_namespace() as (pid, namespace):
            _ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", str(pid))
            try:
                _ip("link", "set", outside, "master", self.bridge, "up")
                enter = ["nsenter", f"--net={namespace}"]
                for arguments in (
                    ["link", "set", "lo", "up"],
                    ["address", "add", f"{address}/24", "dev", inside],
                    ["link", "set", inside, "up"],
                ):
                    subprocess.run([*enter, "ip", *arguments], check=True)
                way_out = started(
                    *("slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", "--netns-type=path"),
                    *(str(namespace), "tap0"),
                )
                try:
                    yield namespace, address
                finally:
                    ended(way_out)
            finally:
                subprocess.run(["ip", "link", "delete", outside], check=False, stderr=subprocess.DEVNULL)


@contextmanager
def started_namespace() -> Iterator[tuple[int, Path]]:
    """Yield a fresh network namespace: a process in it, and its path. It is gone with that process."""
    # Once it says something it is where it should be.
    holder = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert holder.stdout
        holder.stdout.readline()
        yield holder.pid, Path(f"/proc/{holder.pid}/ns/net")
    finally:
        ended(holder, signal.SIGKILL)
        if holder.stdout:
            holder.stdout.close()


@contextmanager
def network() -> Iterator[Network]:
    """Yield a separate network, the first that nobody has."""
    for number in range(1, 255):
        made = Network(number, itertools.count(2))
        if not subprocess.run(
            ["ip", "link", "add", made.bridge, "type", "bridge"], check=False, stderr=subprocess.DEVNULL
        ).returncode:
            break
    else:
        raise RuntimeError("no bridge could be made: root is needed, and the kernel's bridges")
    try:
        _ip("address", "add", f"10.213.{made.number}.1/24", "dev", made.bridge)
        _ip("link", "set", made.bridge, "up")
        yield made
    finally:
        _ip("link", "delete", made.bridge)
