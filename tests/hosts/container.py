"""Guests that are containers which boot systemd: up in a second, with the kernel of this machine."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.hosts.image import CACHE, image
from tests.hosts.network import Network, ended, network, started
from tests.hosts.ssh import Guest, Key

_OVERLAY = 'mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$1/root" && shift && exec "$@"'


@contextmanager
def container(name: str, base: Path, network: Network, key: Key) -> Iterator[Guest]:
    """Boot a container from a root file system, which stays as it is, and yield it with its ssh up.

    It has no knobs of its own: sysctl, huge pages and the limits of control groups are this machine's, and read-only.

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
        console = Path(folder) / "console"
        # The mount belongs to the process and ends with it. nspawn ends its guest in order on SIGTERM.
        process = started(
            *("unshare", "--mount", "sh", "-c", _OVERLAY, str(base), folder),
            *("systemd-nspawn", "--quiet", f"--directory={folder}/root", "--boot", f"--machine={name}"),
            *("--register=no", "--keep-unit", f"--network-namespace-path={namespace}", "--resolv-conf=off"),
            *("--timezone=off", "--system-call-filter=perf_event_open", "--suppress-sync=yes"),
            f"--set-credential=ssh.authorized_keys.root:{key.text}",
            log=console,
        )
        guest = Guest(name, address, 22, key, lambda: process.poll() is None)
        try:
            try:
                guest.wait(60)
            except Exception as error:
                error.add_note(console.read_text(errors="replace")[-2000:])
                raise
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
