"""Makes root file systems of Debian and Ubuntu with mmdebstrap: bases of images, of guests and of fresh userlands."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

UBUNTU = ("noble",)
_AUTHORITIES = Path("/usr/local/share/ca-certificates")
_UBUNTU_KEYS = "usr/share/keyrings/ubuntu-archive-keyring.gpg"


def authorities() -> list[Path]:
    """Return the certificate authorities of this machine: it may reach the world only through something of its own."""
    return sorted(_AUTHORITIES.glob("*.crt"))


def recipe(*parts: object) -> str:
    """Return a short hash that names what is made of some parts and of this machine's certificate authorities."""
    digest = hashlib.sha256("".join(part if isinstance(part, str) else repr(part) for part in parts).encode())
    for authority in authorities():
        digest.update(authority.read_bytes())
    return digest.hexdigest()[:12]


def bootstrap(
    suite: str,
    target: Path,
    *,
    packages: Iterable[str],
    files: Mapping[str, str] | None = None,
    script: str = "update-ca-certificates >/dev/null",
    options: Sequence[str] = (),
) -> None:
    """Make a root file system (half a minute, and a network).

    Parameters
    ----------
    suite
        The release of Debian or Ubuntu.
    target
        A folder that does not exist, or a file that ends in ``.tar``.
    packages
        What is installed beside the essential packages.
    files
        The contents of files to write, by path.
    script
        Runs inside in the end.
    options
        More options of mmdebstrap.

    Raises
    ------
    subprocess.CalledProcessError
        mmdebstrap failed; its last words are on the error output.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        uploads = [(str(file), f"{_AUTHORITIES}/{file.name}") for file in authorities()]
        for number, (path, text) in enumerate((files or {}).items()):
            file = Path(made, str(number))
            file.write_text(text, encoding="utf-8")
            uploads.append((str(file), path))
        last = Path(made, "script")
        last.write_text(f"set -eu\n{script}\n", encoding="utf-8")
        uploads.append((str(last), "/finish"))
        hooks = [f"--customize-hook=upload '{source}' '{path}'" for source, path in uploads]
        hooks.append('--customize-hook=chroot "$1" sh /finish && rm "$1/finish"')
        keys = [f"--keyring={_ubuntu_keys(Path(made))}", "--components=main,universe"] if suite in UBUNTU else []
        command = ["mmdebstrap", "--quiet", "--variant=minbase", *hooks, *keys, *options]
        subprocess.run([*command, f"--include={','.join(sorted(packages))}", suite, str(target)], check=True)


def _ubuntu_keys(folder: Path) -> Path:
    """Return the keys that sign Ubuntu: this machine's, or those of a package that Debian signs."""
    if (here := Path("/", _UBUNTU_KEYS)).exists():
        return here
    extracted = folder / "keys"
    command = ["mmdebstrap", "--quiet", "--variant=extract", "--include=ubuntu-archive-keyring", "trixie"]
    subprocess.run([*command, str(extracted)], check=True)
    shutil.copy(extracted / _UBUNTU_KEYS, folder / "ubuntu.gpg")
    shutil.rmtree(extracted)
    return folder / "ubuntu.gpg"
