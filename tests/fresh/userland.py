"""Fresh userlands of Debian and Ubuntu: a base made once, an overlay for each test, and a user with sudo."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bootstrap import bootstrap, recipe

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultwatch" / "fresh"
_PACKAGES = ("apt", "ca-certificates", "sudo")
_FILES = {
    "/etc/pip.conf": "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n",
    "/etc/sudoers.d/you": "you ALL=(ALL) NOPASSWD: ALL\nDefaults env_keep += DEBIAN_FRONTEND\n",
    "/etc/apt/apt.conf.d/90keep": 'Binary::apt::APT::Keep-Downloaded-Packages "true";\n',
}
_SCRIPT = """useradd --create-home --shell /bin/bash you
chmod 440 /etc/sudoers.d/you
rm -f /etc/apt/apt.conf.d/docker-clean
update-ca-certificates >/dev/null"""
# Everything is mounted in its own namespace and ends with it. The network is that of this machine.
_START = """set -e
mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
mount -o bind,ro proc/sys proc/sys
mount -t tmpfs none run
mkdir -p var/cache/apt/archives
mount --bind "$2" var/cache/apt/archives
cp /etc/resolv.conf etc/resolv.conf
hostname fresh
echo '127.0.0.1 localhost fresh' >etc/hosts
exec chroot . sleep infinity"""


def base(suite: str) -> Path:
    """Return the folder of a fresh root file system, made first where it is not there yet (a network, a minute)."""
    kept = CACHE / f"{suite}-{recipe(suite, _PACKAGES, _FILES, _SCRIPT)}"
    if not kept.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="making-") as made:
            root = Path(made, "root")
            options = ["--mode=root", "--dpkgopt=force-unsafe-io"]
            bootstrap(suite, root, packages=_PACKAGES, files=_FILES, script=_SCRIPT, options=options)
            root.rename(kept)
    return kept


@dataclass
class Userland:
    """A userland that runs.

    Attributes
    ----------
    root
        Its files, seen through the process that holds it.
    process
        The first process inside.
    seconds
        How long commands took, by the name of the step.
    """

    root: Path
    process: int
    seconds: dict[str, float] = field(default_factory=dict)

    def command(self, words: str, user: str = "you", folder: str = "") -> list[str]:
        """Return the command line that runs shell words in a terminal that the user has just opened."""
        home = "/root" if user == "root" else f"/home/{user}"
        enter = [
            "nsenter",
            f"--target={self.process}",
            "--mount",
            "--pid",
            "--uts",
            f"--root={self.root}",
            f"--wd={self.root}",
        ]
        # Another lock than this machine's, so that tests of others are not waited for.
        lock = f"FAULTWATCH_HOST_LOCK={home}"
        clean = ["env", "-i", f"HOME={home}", f"USER={user}", "TERM=dumb", "DEBIAN_FRONTEND=noninteractive", lock]
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        begin = f"cd {shlex.quote(folder or home)} && {words}"
        return [*enter, *become, *clean, path, "bash", "--login", "-c", begin]

    def run(
        self,
        words: str,
        user: str = "you",
        folder: str = "",
        *,
        step: str = "",
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run shell words; what asks whether to go on is answered with yes. The time is added to that of the step."""
        begin = time.monotonic()
        done = subprocess.run(
            self.command(words, user, folder),
            input="y\n" * 9,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        if step:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - begin
        assert done.returncode == 0 or not check, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done

    def copy(self, source: Path, target: str, user: str = "you") -> None:
        """Copy a file or a folder inside, to a user."""
        with subprocess.Popen(["tar", "-C", source.parent, "-c", source.name], stdout=subprocess.PIPE) as archive:
            words = f"mkdir -p {target} && tar -C {target} --no-same-owner -x"
            subprocess.run(self.command(words, user), stdin=archive.stdout, check=True)
        assert archive.returncode == 0


@contextmanager
def userland(suite: str) -> Iterator[Userland]:
    """Start a fresh userland; everything that runs in it ends with the context."""
    archives = CACHE / f"archives-{suite}"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    lower = base(suite)
    folder = Path(tempfile.mkdtemp(dir=CACHE, prefix="running-"))
    try:
        for part in ("upper", "work", "root"):
            (folder / part).mkdir(mode=0o755)
        apart = ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--propagation=private"]
        with subprocess.Popen([*apart, "sh", "-c", _START, str(lower), str(folder), str(archives)]) as holder:
            try:
                first = _child(holder)
                yield Userland(Path(f"/proc/{first}/root"), first)
            finally:
                holder.send_signal(signal.SIGKILL)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _child(holder: subprocess.Popen[bytes]) -> int:
    """Wait until the userland is mounted; return its first process."""
    children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and holder.poll() is None:
        if found := children.read_text().split():
            command = Path(f"/proc/{found[0]}/cmdline").read_bytes()
            if command.startswith(b"sleep\0"):
                return int(found[0])
        time.sleep(0.05)
    raise AssertionError("the userland did not start; the reason is on the error output")
