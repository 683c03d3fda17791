"""Emulated x86-64 machines with kernels of several releases: one disk, on which the playbook made a runner."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bootstrap import recipe
from tests.hosts.image import CACHE, UNPACKED, image
from tests.hosts.machine import HARDWARE, booted, disk, drive, rebooted
from tests.hosts.playbook import ROOT, head, inventory, play
from tests.hosts.ssh import Guest, Key

# Debian 11 has Linux 5.10, Debian 12 has 6.1, its backports have 6.12.
_OTHER_KERNELS = ("bullseye", "bookworm-backports")
_MADE = "made-runner-"
_PARTS = ("ansible", "faultwatch", "pyproject.toml", "requirements-runner.txt", "runner", "workloads")
# GRUB starts the entry that grub-set-default names, and has no menus within menus.
_MENU = """\
printf 'GRUB_DEFAULT=saved\\nGRUB_DISABLE_SUBMENU=y\\n' >/etc/default/grub.d/20-kernel.cfg
update-grub
sync
"""
_SETTINGS = {
    "runner_service": "http://faults.example.org",  # each night says its own
    "base_upgrades": False,
    "matrix_configurations": {"night": {"tuning_huge_pages": "always"}},
    "matrix_configuration": "night",
}


@contextmanager
def guest(name: str, kernel: str, key: Key) -> Iterator[Guest]:
    """Boot a machine with a kernel of a release, such as 6.1, and yield it: what it writes is gone when it ends."""
    with booted(name, ["nice", "-n", "10", *HARDWARE, *drive(_made(key))], key, seconds=600) as made:
        start_kernel(made, kernel)
        yield made


def start_kernel(made: Guest, kernel: str) -> None:
    """Have a machine boot another kernel from now on, as after an upgrade, and boot it where it does not run yet."""
    if made.run("uname -r").stdout.startswith(f"{kernel}."):
        return
    listed = made.run("sed -n \"s/.*menuentry_id_option '\\([^']*\\)'.*/\\1/p\" /boot/grub/grub.cfg").stdout.split()
    entries = [entry for entry in listed if entry.startswith(f"gnulinux-{kernel}.") and "-advanced-" in entry]
    assert entries, f"no kernel {kernel} among {listed}"
    made.run(f"grub-set-default '{entries[0]}'")
    rebooted(made, 600)
    release = made.run("uname -r").stdout.strip()
    assert release.startswith(f"{kernel}."), release


def _made(key: Key) -> Path:
    """Return the disk of a machine that the playbook made a runner of this commit; made first where it is not there.

    The playbook takes a quarter of an hour on an emulated machine, so that three share what it made, and so do commits
    that differ in nothing of it.
    """
    base = image(UNPACKED, kernels_of=_OTHER_KERNELS)
    trees = ["git", "-C", str(ROOT), "rev-parse", *(f"HEAD:{part}" for part in _PARTS)]
    installed = subprocess.run(trees, capture_output=True, text=True, check=True).stdout
    kept = CACHE / f"{_MADE}{recipe(base.name, installed, _SETTINGS, _MENU)}.disk"
    if kept.exists():
        return kept
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="making-") as name:
        folder = Path(name)
        fresh = folder / "disk"
        subprocess.run(["cp", "--sparse=always", disk(base), fresh], check=True)
        hardware = ["nice", "-n", "10", *HARDWARE, *drive(fresh, written=True)]
        with booted("runner", hardware, key, seconds=600) as made:
            hosts = inventory(folder, {"runners": [made]}, {**_SETTINGS, "release_revision": head()})
            assert play("runner.yml", hosts).returncode == 0
            made.run(_MENU)
            made.run("systemctl poweroff", check=False)
            deadline = time.monotonic() + 300
            while made.alive() and time.monotonic() < deadline:
                time.sleep(0.5)
            assert not made.alive(), "the machine did not switch itself off"
        others = list(CACHE.glob(f"{_MADE}*"))
        fresh.rename(kept)
    for older in others:
        older.unlink()
    return kept
