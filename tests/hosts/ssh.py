"""Coming into a guest: a key pair for one test, and what is done over ssh."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


class NotUp(Exception):
    """A guest did not come up, or went away."""


@dataclass(frozen=True)
class Key:
    """A key pair, and the hosts that were met with it."""

    private: Path

    @classmethod
    def fresh(cls, folder: Path) -> Key:
        """Make one in a folder."""
        private = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(private)], check=True)
        return cls(private)

    @property
    def text(self) -> str:
        """The public half: as the systemd credential ssh.authorized_keys.root it lets its owner in."""
        return self.private.with_suffix(".pub").read_text(encoding="utf-8").strip()

    @property
    def options(self) -> list[str]:
        """Options of ssh."""
        return [
            *("-i", str(self.private), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"),
            *("-o", f"UserKnownHostsFile={self.private.with_name('known_hosts')}"),
            *("-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=60", "-o", "ServerAliveInterval=30"),
        ]


@dataclass(frozen=True)
class Guest:
    """A booted guest that lets one in as root.

    Attributes
    ----------
    name
        What inventories call it.
    address, port
        Where its ssh listens, as seen from here.
    alive
        Whether the process that is the guest runs.
    console
        The file with what it printed while it booted.
    monitor
        The socket of QEMU's monitor; None for a container.
    """

    name: str
    address: str
    port: int
    key: Key
    alive: Callable[[], bool]
    console: Path
    monitor: Path | None = None

    @property
    def line(self) -> str:
        """Its line in an inventory of Ansible."""
        options = " ".join(self.key.options)
        return (
            f"{self.name} ansible_host={self.address} ansible_port={self.port} ansible_user=root"
            f" ansible_python_interpreter=/usr/bin/python3 ansible_ssh_common_args='{options}'"
        )

    def run(self, command: str, *, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command of its shell; what it printed is text.

        Raises
        ------
        AssertionError
            It failed, and `check` was not taken back.
        """
        done = subprocess.run(self._ssh(command), capture_output=True, text=True, check=False, input=stdin)
        said = f"{command}\n-> {done.returncode} on {self.name}\n{done.stdout}{done.stderr}"
        assert not check or done.returncode == 0, said
        return done

    def send(self, command: str, data: bytes) -> None:
        """Run a command of its shell that reads bytes.

        Raises
        ------
        subprocess.CalledProcessError
            It failed; what it said is on the error output.
        """
        subprocess.run(self._ssh(command), check=True, input=data, stdout=subprocess.DEVNULL)

    def fetch(self, file: str) -> bytes:
        """Return what is in a file of it."""
        return subprocess.run(self._ssh(f"cat '{file}'"), capture_output=True, check=True).stdout

    @contextmanager
    def started(self, command: str) -> Iterator[subprocess.Popen[str]]:
        """Yield a running command of its shell; all that it says comes out of one pipe. It is ended at the end."""
        with subprocess.Popen(
            self._ssh(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                yield process
            finally:
                process.terminate()

    def _ssh(self, command: str) -> list[str]:
        return ["ssh", *self.key.options, "-p", str(self.port), f"root@{self.address}", command]

    def wait(self, seconds: float) -> None:
        """Wait until its ssh server greets: the port of an emulated machine is open long before.

        Raises
        ------
        NotUp
            It ended, or the time is up.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self.alive():
                raise NotUp(f"{self.name} ended before its ssh was up")
            try:
                with socket.create_connection((self.address, self.port), timeout=5) as connection:
                    if connection.recv(4) == b"SSH-":
                        return
            except OSError:
                pass
            time.sleep(0.1)
        raise NotUp(f"no ssh on {self.name} ({self.address} port {self.port}) after {seconds:.0f} s")

    @contextmanager
    def console_shown(self) -> Iterator[None]:
        """Add the last lines of its console to what goes wrong."""
        try:
            yield
        except BaseException as error:
            if self.console.exists():
                error.add_note(self.console.read_text(errors="replace")[-2000:])
            raise

    def boot_id(self) -> str:
        """What differs from boot to boot."""
        return self.run("cat /proc/sys/kernel/random/boot_id").stdout.strip()
