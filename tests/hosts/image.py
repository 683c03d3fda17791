"""Root file systems of Debian, made once and kept in the user's cache: what guests start from and never write to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.bootstrap import bootstrap, recipe

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
# Both kinds of guests have their name server there; see network.py and machine.py.
_NETWORK = """\
[Match]
Driver=virtio_net
[Network]
DHCP=yes
"""
_SEED = """\
echo 'nameserver 10.0.2.3' >/etc/resolv.conf
echo guest >/etc/hostname
echo '127.0.0.1 localhost guest' >/etc/hosts
systemctl --quiet enable ssh systemd-networkd
systemctl --quiet mask systemd-networkd-wait-online systemd-resolved apt-daily.timer apt-daily-upgrade.timer
update-ca-certificates >/dev/null
"""
# Hooks of mmdebstrap. apt knows the other releases only until their kernels are installed: by name, for the package
# that always depends on the newest one can be installed in one version only.
_KERNELS = [
    '--setup-hook=for other in {others}; do sed --quiet "s/ {suite} main.*/ $other main/p" "$1/etc/apt/sources.list"; '
    'done >"$1/etc/apt/sources.list.d/kernels.list"',
    '--customize-hook=set -e; export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"; inside="-oDPkg::Chroot-Directory=$1"; '
    "for other in {others}; do "
    'kernels="$(apt-get --simulate --yes --allow-downgrades install "linux-image-amd64/$other" | '
    "sed -n 's/^Inst \\(linux-image-[0-9][^ ]*\\) .*/\\1/p')\"; "
    'apt-get "$inside" --quiet --yes --no-install-recommends install $kernels; '
    'done; rm "$1/etc/apt/sources.list.d/kernels.list"',
]


def image(
    packages: Iterable[str] = (), suite: str = "bookworm", architecture: str = "", kernels_of: Iterable[str] = ()
) -> Path:
    """Return the folder of a root file system, made first where it is not there yet (half a minute, and a network).

    Parameters
    ----------
    packages
        Debian packages beside those of a freshly installed server.
    suite
        The release of Debian.
    architecture
        Debian's name of it; empty for that of this machine. The kernel must run its programs, by an emulator.
    kernels_of
        Other releases whose newest kernels are installed beside that of ``packages``.

    Raises
    ------
    subprocess.CalledProcessError
        It could not be made; mmdebstrap's last words are on the error output.
    """
    wanted = sorted({*FRESH, *packages})
    others = [hook.format(suite=suite, others=" ".join(kernels_of)) for hook in _KERNELS] if kernels_of else []
    name = recipe(repr([suite, *filter(None, [architecture]), wanted, _NETWORK, _SEED, *others]))
    kept = CACHE / f"{suite}-{name}"
    if kept.is_dir():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="making-") as made:
        root = Path(made) / "root"
        options = ["--mode=root", *([f"--architectures={architecture}"] if architecture else []), *others]
        files = {"/etc/systemd/network/50-guest.network": _NETWORK}
        bootstrap(suite, root, packages=wanted, files=files, script=_SEED, options=options)
        try:
            root.rename(kept)
        except OSError:  # Another one made the same meanwhile.
            shutil.rmtree(root)
    return kept
