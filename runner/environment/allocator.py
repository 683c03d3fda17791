"""Which C library and which memory allocator a process gets."""

import re
from collections.abc import Mapping
from pathlib import Path

from runner.environment import libraries
from runner.system.tree import Knobs, Tree

ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc", "snmalloc", "hoard", "scudo", "rpmalloc")
_LIBC = re.compile(r"(/\S+/(?:libc\.so\.6|libc-[\d.]+\.so|ld-musl-[^/\s]+))$", re.MULTILINE)
_GLIBC_RELEASE = re.compile(rb"GNU C Library [^\n]*? release version (\d[\d.]*\d)")


def knobs(tree: Tree, variables: Mapping[str, str]) -> Knobs:
    """Return the C library of this machine and the allocator of a process with these variables."""
    library = _mapped_libc(tree)
    libc = _libc_name(library) if library else None
    return {
        "libc.version": f"{libc} ({library.name}, sha256 {libraries.fingerprint(library)})" if library else None,
        "allocator": _allocator(tree, variables, libc or "the C library's"),
    }


def _allocator(tree: Tree, variables: Mapping[str, str], libc: str) -> str:
    """Name the allocator that the loader puts before the C library's own.

    A library that is named but is not there is passed over by the loader with no more than a warning, so the process
    runs, with the wrong allocator: that is said here.
    """
    search = tuple(filter(None, variables.get("LD_LIBRARY_PATH", "").split(":")))
    for entry in re.split(r"[ :]+", variables.get("LD_PRELOAD", "")):
        name = Path(entry).name
        family = next((known for known in ALLOCATORS if known in name.lower()), None)
        if family is None:
            continue
        file = tree.path(entry) if "/" in entry else next(libraries.find(tree, name, search), None)
        digits = libraries.fingerprint(file) if file else None
        return f"{family} ({name}, sha256 {digits})" if digits else f"{libc} (preloaded {name} is not there)"
    return libc


def _mapped_libc(tree: Tree) -> Path | None:
    """Return the C library that is loaded into this very process, which is the one other programs get too."""
    found = _LIBC.search(tree.text("proc/self/maps", limit=1 << 22) or "")
    return tree.path(found[1]) if found else None


def _libc_name(library: Path) -> str:
    if library.name.startswith("ld-musl"):
        return "musl"
    try:
        release = _GLIBC_RELEASE.search(library.read_bytes())
    except OSError:
        release = None
    return f"glibc {release[1].decode()}" if release else "glibc"
