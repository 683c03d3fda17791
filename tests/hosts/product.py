"""A disk with Faultwatch as it is in this work tree, for emulated guests: Ansible would take them many minutes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.installed_version import get_version
from tests.hosts.image import CACHE

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "3.11"
"""Of the guests' Debian."""
IMPORTABLE = f"""\
printf '/opt/packages\\n/opt/faultwatch\\n' >/usr/local/lib/python{PYTHON}/dist-packages/faultwatch.pth
"""
"""Run once in a guest that has the product in ``/opt``."""
MOUNT = f"""\
set -e
mount /dev/vdb /opt
{IMPORTABLE}"""
"""Run in a guest after its first boot, where the disk is its second one."""
_AUTHOR = ["-c", "user.name=Author", "-c", "user.email=author@example.invalid"]
_COMMAND = "#!/usr/bin/python3\nfrom faultwatch import run_runner\nrun_runner()\n"


@dataclass(frozen=True)
class Product:
    """What a disk holds.

    Attributes
    ----------
    architecture
        As platforms of Python packages name it.
    locked
        The lock file with the packages.
    parts
        Files and folders of the work tree.
    """

    architecture: str
    locked: str
    parts: Sequence[str]


def product_disk(product: Product, folder: Path) -> Path:
    """Return a new disk with the files of :func:`product_tree`."""
    return file_system(product_tree(product, folder), folder / "disk", "1G")


def product_tree(product: Product, folder: Path) -> Path:
    """Return a new folder: ``bin/faultwatch``, ``packages``, and in ``faultwatch`` a repository of the parts."""
    tree = folder / "tree"
    parts = tree / "faultwatch"
    parts.mkdir(parents=True)
    # What git would commit: neither builds nor what editors leave.
    listing = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", *product.parts]
    for name in filter(None, subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")):
        if (ROOT / name).is_file():
            (parts / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, parts / name)
    # What is measured is a revision.
    for words in (["init", "--quiet"], ["add", "."], [*_AUTHOR, "commit", "--quiet", "--message=Measure"]):
        subprocess.run(["git", "-C", parts, *words], check=True)
    shutil.copytree(_packages(product), tree / "packages")
    metadata = tree / "packages" / f"faultwatch-{get_version()}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: faultwatch\nVersion: {get_version()}\n", encoding="utf-8")
    command = tree / "bin" / "faultwatch"
    command.parent.mkdir()
    command.write_text(_COMMAND, encoding="utf-8")
    command.chmod(0o755)
    # The emulated processor would take a minute for it.
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-s", tree, "-p", "/opt", tree], check=False)
    return tree


def file_system(tree: Path, disk: Path, size: str) -> Path:
    """Make a disk with the files of a folder."""
    subprocess.run(["truncate", "-s", size, disk], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-d", tree, disk], check=True)
    return disk


def _packages(product: Product) -> Path:
    """Return the folder of the locked packages, for the guest's architecture."""
    locked = ROOT / product.locked
    kept = CACHE / f"{product.architecture}-packages-{hashlib.sha256(locked.read_bytes()).hexdigest()[:12]}"
    if not kept.is_dir():
        made = kept.with_name(f"making-{kept.name}")
        shutil.rmtree(made, ignore_errors=True)
        platforms = (f"manylinux2014_{product.architecture}", f"manylinux_2_28_{product.architecture}")
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", "install"),
                *("--require-hashes", "--no-deps", "--requirement", str(locked), "--target", str(made)),
                *("--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp"),
                *(f"--abi={name}" for name in (f"cp{PYTHON.replace('.', '')}", "abi3", "none")),
                *(f"--platform={name}" for name in platforms),
            ],
            check=True,
        )
        made.rename(kept)
    return kept
