"""Linux kernels for aarch64, one for each size of pages, built once from Debian's sources and kept in the user's cache.

Debian has no kernel with pages of 64 KiB. Both are built from one configuration, so that they differ in nothing else.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from tests.hosts.image import CACHE

_CONFIGURATION = Path(__file__).with_name("kernel.config")


def kernel(page_kib: int) -> Path:
    """Return the image of a kernel, made first where it is not there yet (five to fifteen minutes).

    Raises
    ------
    RuntimeError
        It cannot be built, or the configuration names an option that these sources do not have.
    """
    sources = max(Path("/usr/src").glob("linux-source-*.tar.xz"))
    options = [*_options(_CONFIGURATION.read_text(encoding="utf-8")), f"CONFIG_ARM64_{page_kib}K_PAGES=y"]
    recipe = hashlib.sha256(repr([sources.stat().st_size, options]).encode()).hexdigest()[:12]
    kept = CACHE / f"linux-aarch64-{page_kib}k-{recipe}"
    if kept.exists():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="kernel-") as name:
        folder = Path(name)
        _run("tar", "--extract", "--strip-components=1", f"--file={sources}", f"--directory={folder}")
        wanted = folder / "wanted.config"
        wanted.write_text("".join(f"{option}\n" for option in options), encoding="utf-8")
        make = ["make", "--silent", f"--directory={folder}", "ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]
        _run(*make, f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig")
        # Options whose dependencies are off are left out without a word.
        if missing := set(options) - set(_options((folder / ".config").read_text(encoding="utf-8"))):
            raise RuntimeError(f"the kernel cannot have {', '.join(sorted(missing))}: see {_CONFIGURATION}")
        _run(*make, f"--jobs={os.cpu_count()}", "Image")
        (folder / "arch/arm64/boot/Image").rename(kept)
    return kept


def _options(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("CONFIG_")]


def _run(*command: str) -> None:
    done = subprocess.run(["nice", "-n", "15", *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-3000:]}")
