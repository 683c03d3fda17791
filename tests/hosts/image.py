"""Root file systems of Debian, made once and kept in the user's cache: what guests start from and never write to."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultwatch" / "hosts"
# What a freshly installed server has: ssh to come in, and the Python that Ansible's modules run in.
FRESH = ["ca-certificates", "dbus", "iproute2", "openssh-server", "procps"]
FRESH += ["python3-apt", "python3-minimal", "sudo", "systemd-sysv", "udev"]
# A kernel and GRUB, which a machine boots from its own disk with, and what the roles install: an emulated machine would
# take minutes to unpack it, so it only finds that it is there.
UNPACKED = ["linux-image-amd64", "grub2-common", "grub-pc-bin"]
UNPACKED += ["bubblewrap", "g++", "gcc", "gfortran", "git", "libc6-dev", "libjemalloc2", "linux-perf", "make"]
UNPACKED += [
    "python3-venv",
    "libtcmalloc-minimal4",
    "libmimalloc-dev",
    "curl",
    "systemd-timesyncd",
    "tzdata",
    "unattended-upgrades",
]
_AUTHORITIES = Path("/usr/local/share/ca-certificates")
# Both kinds of guests have their name server there; see network.py and machine.py.
_NETWORK = """\
[Match]
Driver=virtio_net
[Network]
DHCP=yes
"""
_SEED = """\
set -eu
echo 'nameserver 10.0.2.3' >"$1/etc/resolv.conf"
echo guest >"$1/etc/hostname"
echo '127.0.0.1 localhost guest' >"$1/etc/hosts"
chroot "$1" systemctl --quiet enable ssh systemd-networkd
chroot "$1" systemctl --quiet mask systemd-networkd-wait-online systemd-resolved apt-daily.timer apt-daily-upgrade.timer
chroot "$1" update-ca-certificates >/dev/null
"""


def image(packages: Iterable[str] = (), suite: str = "bookworm", architecture: str = "") -> Path:
    """Return the folder of a root file system, made first where it is not there yet (half a minute, and a network).

    Parameters
    ----------
    packages
        Debian packages beside those of a freshly installed server.
    suite
        The release of Debian.
    architecture
        Debian's name of it; empty for that of this machine. The kernel must run its programs, by an emulator.

    Raises
    ------
    subprocess.CalledProcessError
        It could not be made; mmdebstrap's last words are on the error output.
    """
    wanted = sorted({*FRESH, *packages})
    authorities = sorted(_AUTHORITIES.glob("*.crt"))
    recipe = hashlib.sha256(repr([suite, *filter(None, [architecture]), wanted, _NETWORK, _SEED]).encode())
    for authority in authorities:
        recipe.update(authority.read_bytes())
    kept = CACHE / f"{suite}-{recipe.hexdigest()[:12]}"
    if kept.is_dir():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="making-") as made:
        root, network, seed = Path(made) / "root", Path(made) / "network", Path(made) / "seed"
        network.write_text(_NETWORK, encoding="utf-8")
        seed.write_text(_SEED, encoding="utf-8")
        # The certificate authorities of this machine: it may reach the world only through something that has its own.
        uploads = [(authority, f"/usr/local/share/ca-certificates/{authority.name}") for authority in authorities]
        uploads.append((network, "/etc/systemd/network/50-guest.network"))
        hooks = [f"--customize-hook=upload '{source}' '{target}'" for source, target in uploads]
        hooks.append(f"--customize-hook=sh '{seed}' \"$1\"")
        subprocess.run(
            [
                *("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", *hooks),
                *([f"--architectures={architecture}"] if architecture else []),
                *(f"--include={','.join(wanted)}", suite, str(root)),
            ],
            check=True,
        )
        try:
            root.rename(kept)
        except OSError:  # Another one made the same meanwhile.
            shutil.rmtree(root)
    return kept
