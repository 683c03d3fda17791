"""An emulated aarch64 machine with the runner installed: its kernel has pages of the size that is wanted."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.aarch64.kernel import kernel
from tests.hosts.image import CACHE, image
from tests.hosts.machine import booted, drive
from tests.hosts.product import MOUNT, Product, file_system, product_disk
from tests.hosts.ssh import Guest, Key

_PRODUCT = Product("aarch64", "requirements-runner.txt", ["faultwatch", "runner", "workloads"])
_PACKAGES = ["binutils", "bubblewrap", "g++", "gcc", "gfortran", "git", "libc6-dev", "libjemalloc2", "libseccomp2"]
_PACKAGES += ["linux-perf", "make", "python3", "strace"]
# cortex-a72 has pages of 4 and of 64 KiB, and neither sets access flags nor dirty flags by itself.
_MACHINE = ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "cortex-a72", "-machine", "virt", "-m", "2048"]
_MACHINE += ["-smp", "1", "-display", "none", "-nodefaults", "-device", "virtio-rng-pci"]
_KERNEL = "root=/dev/vda rw nokaslr mitigations=off init_on_alloc=0 audit=0 quiet console=ttyAMA0"
# The kernel starts an emulator for programs of this architecture from now on, until the next boot.
_BINFMT = Path("/proc/sys/fs/binfmt_misc")
_EMULATOR = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")


@contextmanager
def guest(page_kib: int, key: Key) -> Iterator[Guest]:
    """Boot a machine with pages of so many KiB and yield it, with ``/opt/faultwatch`` as it is in this work tree."""
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="runner-") as folder:
        hardware = [
            "nice",
            "-n",
            "15",
            "qemu-system-aarch64",
            *_MACHINE,
            *drive(_disk()),
            *drive(product_disk(_PRODUCT, Path(folder))),
        ]
        hardware += ["-kernel", str(kernel(page_kib)), "-append", _KERNEL]
        with booted(f"arm-{page_kib}k", hardware, key, seconds=600) as made:
            made.run(MOUNT)
            yield made


def _disk() -> Path:
    """Return a disk with a root file system; made first where it is not there yet (some minutes, and a network)."""
    with _emulated_programs():
        base = image(_PACKAGES, architecture="arm64")
    kept = CACHE / f"{base.name}.disk"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="disk-") as folder:
            file_system(base, Path(folder) / "disk", "4G").rename(kept)
    return kept


@contextmanager
def _emulated_programs() -> Iterator[None]:
    """Let the kernel run programs of aarch64 meanwhile, by an emulator; where it can already, change nothing."""
    entry = _BINFMT / "qemu-aarch64"
    if entry.exists():
        yield
        return
    mounted = not (_BINFMT / "register").exists()
    if mounted:
        subprocess.run(["mount", "-t", "binfmt_misc", "none", _BINFMT], check=True)
    try:
        if not entry.exists():
            (_BINFMT / "register").write_text(_EMULATOR.read_text(encoding="utf-8").strip(), encoding="utf-8")
        yield
    finally:
        if entry.exists():
            entry.write_text("-1", encoding="utf-8")
        if mounted:
            subprocess.run(["umount", _BINFMT], check=False)


def faultwatch(made: Guest, *words: str, variables: dict[str, str] | None = None, check: bool = True) -> str:
    """Run a command of the runner in the guest; return its output.

    Raises
    ------
    AssertionError
        It failed, and `check` was not taken back.
    """
    settings = {"FAULTWATCH_HOME": "/root/faultwatch", **(variables or {})}
    line = shlex.join(["env", *(f"{name}={value}" for name, value in settings.items()), "/opt/bin/faultwatch", *words])
    return made.run(f"cd /opt/faultwatch && {line}", check=check).stdout


@contextmanager
def forwarded(made: Guest, address: str) -> Iterator[str]:
    """Let the guest reach an address of this machine's loopback; yield its own address for it."""
    port = address.rpartition(":")[2]
    tunnel = subprocess.Popen(
        [
            *("ssh", *made.key.options, "-p", str(made.port), "-o", "ExitOnForwardFailure=yes"),
            *("-N", "-R", f"{port}:127.0.0.1:{port}", f"root@{made.address}"),
        ]
    )
    try:
        made.run(f"until (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.2; done")
        yield f"http://127.0.0.1:{port}"
    finally:
        tunnel.terminate()
        tunnel.wait()
