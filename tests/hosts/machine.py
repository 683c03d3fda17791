"""Guests that are whole machines, emulated: a kernel, a disk, GRUB and settings of their own; half a minute to boot."""

from __future__ import annotations

import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.hosts.image import CACHE
from tests.hosts.network import ended, started
from tests.hosts.ssh import Guest, Key, NotUp

# Emulation takes what hardware would give: some options make the kernel boot in half the time, and know its clock.
# QEMU 7 corrupts flags where it emulates cmpxchg16b, so that newer kernels panic: they have to do without it. Programs
# see a processor that has it, because numpy requires x86-64-v2. 141 is its number: older kernels know no names.
_KERNEL = "clearcpuid=141 nokaslr mitigations=off init_on_alloc=0 tsc=reliable random.trust_cpu=on audit=0 quiet"
_KERNEL += " console=ttyS0"
# One thread for all CPUs: with several, a kernel that patches its own code (tracepoints in the scheduler, when perf
# starts) can execute a half-written instruction, and panics.
_MACHINE = ["-accel", "tcg,thread=single,tb-size=512", "-cpu", "Nehalem", "-machine", "q35", "-m", "2048"]
_MACHINE += ["-smp", "2", "-display", "none", "-nodefaults", "-device", "virtio-rng-pci"]
HARDWARE = ["qemu-system-x86_64", *_MACHINE]
"""The command of QEMU for a machine that :func:`disk` boots, without its disks."""
# Runs in its own mount namespace, so that no mount outlives it. $1: root file system, $2: disk, $3: mount point.
_DISK = f"""\
set -eu
truncate -s 8G "$2"
echo 'start=2048, type=83, bootable' | sfdisk --quiet "$2"
mkfs.ext4 -q -E offset=1048576 -d "$1" "$2" 8387584k
loop=$(losetup --find --show "$2")
trap 'umount --recursive "$3" || true; partx --delete "$loop" || true; losetup --detach "$loop"' EXIT
partx --update "$loop" # Not every kernel reads partition tables by itself.
mount "${{loop}}p1" "$3"
for folder in dev proc sys; do mount --rbind "/$folder" "$3/$folder"; done
mkdir -p "$3/etc/default/grub.d"
echo '/dev/vda1 / ext4 noatime 0 1' >"$3/etc/fstab"
cat >"$3/etc/default/grub.d/10-guest.cfg" <<'END'
GRUB_DEVICE=/dev/vda1
GRUB_DISABLE_LINUX_UUID=true
GRUB_TIMEOUT=0
GRUB_TERMINAL=console
GRUB_CMDLINE_LINUX_DEFAULT=
GRUB_CMDLINE_LINUX="{_KERNEL}"
END
chroot "$3" grub-install --target=i386-pc "$loop" >&2
chroot "$3" update-grub >&2
"""


def disk(base: Path) -> Path:
    """Return a disk with a root file system, its kernel and GRUB; made first where it is not there yet."""
    kept = CACHE / f"{base.name}.disk"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=CACHE, prefix="disk-") as folder:
            made, point = Path(folder) / "disk", Path(folder) / "point"
            point.mkdir()
            script = ["unshare", "--mount", "sh", "-c", _DISK, "sh", str(base), str(made), str(point)]
            done = subprocess.run(script, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"no disk could be made of {base}:\n{done.stderr}")
            made.rename(kept)
    return kept


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def machine(
    name: str, base: Path, key: Key, seconds: float = 300, *, further_disks: Sequence[Path] = ()
) -> Iterator[Guest]:
    """Boot an emulated machine from a root file system, which stays as it is, and yield it with its ssh up.

    What it writes is gone when it ends; it may be rebooted. It reaches the addresses that this machine reaches.

    Raises
    ------
    NotUp
        It did not boot in time; the last lines of its console are in the note.
    """
    disks = [word for file in (disk(base), *further_disks) for word in drive(file)]
    with booted(name, [*HARDWARE, *disks], key, seconds) as guest:
        yield guest


def drive(file: Path, *, written: bool = False) -> list[str]:
    """Return QEMU's options for a disk.

    Parameters
    ----------
    written
        Whether it keeps what the machine writes, instead of staying as it is.
    """
    return ["-drive", f"file={file},if=virtio,format=raw,cache=unsafe,snapshot={'off' if written else 'on'}"]


@contextmanager
def booted(name: str, hardware: Sequence[str], key: Key, seconds: float) -> Iterator[Guest]:
    """Boot a machine and yield it with its ssh up.

    Parameters
    ----------
    hardware
        The command of QEMU, without a network and a console.

    Raises
    ------
    NotUp
        It did not boot in time; the last lines of its console are in the note.
    """
    port = _free_port()
    with tempfile.TemporaryDirectory() as folder:
        console, monitor = Path(folder) / "console", Path(folder) / "monitor"
        process = started(
            *(*hardware, "-serial", f"file:{console}", "-monitor", f"unix:{monitor},server=on,wait=off"),
            *(
                "-netdev",
                f"user,id=n0,hostfwd=tcp:127.0.0.1:{port}-:22",
                "-device",
                "virtio-net-pci,netdev=n0,romfile=",
            ),
            *("-fw_cfg", f"name=opt/io.systemd.credentials/ssh.authorized_keys.root,string={key.text}"),
        )
        guest = Guest(name, "127.0.0.1", port, key, lambda: process.poll() is None, console, monitor)
        try:
            with guest.console_shown():
                guest.wait(seconds)
                yield guest
        finally:
            ended(process, signal.SIGTERM)


def rebooted(guest: Guest, seconds: float = 300) -> None:
    """Reboot a guest and wait until it is up again.

    Raises
    ------
    NotUp
        It is not up in time.
    """
    before = guest.boot_id()
    guest.run("systemctl reboot", check=False)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        guest.wait(seconds=max(1.0, deadline - time.monotonic()))
        found = guest.run("cat /proc/sys/kernel/random/boot_id", check=False)
        if found.returncode == 0 and found.stdout.strip() != before:
            return
        time.sleep(0.5)
    raise NotUp(f"{guest.name} did not come back in {seconds:.0f} s")


def power_cut(guest: Guest, seconds: float = 300) -> None:
    """Reset an emulated machine, which loses what has not reached its disk, and wait until it is up again.

    Raises
    ------
    NotUp
        It is not up in time.
    """
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.connect(str(guest.monitor))
        monitor.sendall(b"system_reset\n")
        heard = b""
        while heard.count(b"(qemu)") < 2:  # Before the command, and after it.
            heard += monitor.recv(4096)
    guest.wait(seconds)
