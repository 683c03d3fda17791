"""Guests that are containers which boot systemd: up in a second, with the kernel of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.hosts.image import CACHE, image
from tests.hosts.network import Network, ended, network, started
from tests.hosts.ssh import Guest, Key
from tests.power_cut import Disk, disk

_OVERLAY = 'mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$1/root" && shift && exec "$@"'


@dataclass
class DiskedContainer:
    """A container with its own disk, which can lose its power.

    Attributes
    ----------
    guest
        The container, while it is up.
    """

    name: str
    base: Path
    disk: Disk
    place: tuple[Path, str]
    key: Key
    options: Sequence[str]
    guest: Guest = field(init=False)
    _process: subprocess.Popen[bytes] | None = None

    def boot(self) -> None:
        """Boot, and wait for its ssh."""
        for part in ("upper", "work", "root"):
            (self.disk.folder / part).mkdir(mode=0o755, exist_ok=True)
        self._process = process = _booting(
            self.name, self.base, self.disk.folder, self.place[0], self.key, self.options
        )
        self.guest = Guest(
            self.name, self.place[1], 22, self.key, lambda: process.poll() is None, self.disk.folder / "console"
        )
        with self.guest.console_shown():
            self.guest.wait(300)

    def end(self, signal_number: int = signal.SIGTERM) -> None:
        """End it."""
        if self._process:
            ended(self._process, signal_number)

    def reboot(self) -> None:
        """Reboot in order."""
        self.guest.run("systemctl reboot", check=False)
        assert self._process
        self._process.wait(300)
        self.boot()

    def power_cut(self, *, journal: bool) -> None:
        """Cut the power of disk and processes at once, and boot again."""
        self.disk.cut(journal=journal)
        assert self._process
        # All processes of the container end with its first one, which outlives nspawn.
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        self.end(signal.SIGKILL)
        # The first one ends after all others. Until then the ssh server of before the cut may answer.
        while any(_runs(child) for child in children):
            time.sleep(0.01)
        self.disk.restart()
        self.boot()


def _runs(process: str) -> bool:
    """Return whether a process is there, and not only as a zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _booting(
    name: str, base: Path, folder: Path, namespace: Path, key: Key, options: Sequence[str]
) -> subprocess.Popen[bytes]:
    # The mount belongs to the process and ends with it. nspawn ends its guest in order on SIGTERM.
    return started(
        *("unshare", "--mount", "sh", "-c", _OVERLAY, str(base), str(folder)),
        *("systemd-nspawn", "--quiet", f"--directory={folder}/root", "--boot", f"--machine={name}"),
        *("--register=no", "--keep-unit", f"--network-namespace-path={namespace}", "--resolv-conf=off"),
        *("--timezone=off", "--system-call-filter=perf_event_open", *options),
        f"--set-credential=ssh.authorized_keys.root:{key.text}",
        log=folder / "console",
    )


@contextmanager
def disked_container(
    name: str, base: Path, network: Network, key: Key, options: Sequence[str] = ()
) -> Iterator[DiskedContainer]:
    """Boot a container that writes to its own disk, and yield it.

    Parameters
    ----------
    options
        Further ones of systemd-nspawn.
    """
    with (
        tempfile.TemporaryDirectory(dir=CACHE, prefix=f"{name}-", ignore_cleanup_errors=True) as folder,
        network.joined() as place,
        disk(Path(folder) / "disk", Path(folder) / "storage", "4g") as storage,
    ):
        made = DiskedContainer(name, base, storage, place, key, options)
        try:
            made.boot()
            yield made
        finally:
            made.end()


@contextmanager
def container(name: str, base: Path, network: Network, key: Key) -> Iterator[Guest]:
    """Boot a container from a root file system, which stays as it is, and yield it with its ssh up.

    It has no settings of its own: sysctl, huge pages and the limits of control groups are this machine's, and
    read-only.

    Raises
    ------
    NotUp
        It did not boot; the last lines of its console are in the note.
    """
    with (
        tempfile.TemporaryDirectory(dir=CACHE, prefix=f"{name}-", ignore_cleanup_errors=True) as folder,
        network.joined() as (namespace, address),
    ):
        for part in ("upper", "work", "root"):
            (Path(folder) / part).mkdir(mode=0o755)
        process = _booting(name, base, Path(folder), namespace, key, ["--suppress-sync=yes"])
        guest = Guest(name, address, 22, key, lambda: process.poll() is None, Path(folder) / "console")
        try:
            with guest.console_shown():
                guest.wait(60)
                yield guest
        finally:
            ended(process, signal.SIGTERM)


@contextmanager
def containers(*names: str, packages: Iterable[str] = (), suite: str = "bookworm") -> Iterator[dict[str, Guest]]:
    """Boot containers that see each other, and yield them by name.

    Parameters
    ----------
    packages
        Debian packages that are there already, beside those of a freshly installed server.
    suite
        The release of Debian.
    """
    with ExitStack() as stack:
        base = image(packages, suite)
        key = Key.fresh(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        shared = stack.enter_context(network())
        yield {name: stack.enter_context(container(name, base, shared, key)) for name in names}
