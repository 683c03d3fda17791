"""The C library and the memory allocator of a process."""

import glob
import re
from collections.abc import Mapping
from pathlib import Path

from runner.environment import library_fingerprints
from runner.system.tree import SettingValues, Tree

ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc", "snmalloc", "hoard", "scudo", "rpmalloc")
IS_MISSING = "is not there"
"""The end of an allocator's name if its library does not exist: the process then runs with another allocator."""
_LIBC = re.compile(r"(/\S+/(?:libc\.so\.6|libc-[\d.]+\.so|ld-musl-[^/\s]+))$", re.MULTILINE)
_GLIBC_RELEASE = re.compile(rb"GNU C Library [^\n]*? release version (\d[\d.]*\d)")


def read_settings(tree: Tree, variables: Mapping[str, str]) -> SettingValues:
    """Return the C library of this machine and the allocator of a process with these variables."""
    library = _find_mapped_libc(tree)
    libc = _detect_libc(library) if library else None
    return {
        "libc.version": f"{libc} ({library.name}, sha256 {library_fingerprints.hash_library(library)})"
        if library
        else None,
        "allocator": _detect_allocator(tree, variables, libc or "the C library's"),
    }


def _detect_allocator(tree: Tree, variables: Mapping[str, str], libc: str) -> str:
    """Return the name of the allocator that the loader preloads, or else the C library's own.

    If a named library does not exist, the loader only prints a warning, and the process runs with another allocator.
    The returned text then says that the library is missing.
    """
    library_folders = tuple(filter(None, variables.get("LD_LIBRARY_PATH", "").split(":")))
    for entry in re.split(r"[ :]+", variables.get("LD_PRELOAD", "")):
        name = Path(entry).name
        family = next((allocator for allocator in ALLOCATORS if allocator in name.lower()), None)
        if family is None:
            continue
        if "/" in entry:
            file: Path | None = tree.path(entry)
        else:
            file = next(library_fingerprints.find_libraries(tree, glob.escape(name), library_folders), None)
        digits = library_fingerprints.hash_library(file) if file else None
        return f"{family} ({name}, sha256 {digits})" if digits else f"{libc} (preloaded {name} {IS_MISSING})"
    return libc


def _find_mapped_libc(tree: Tree) -> Path | None:
    """Return the C library of this process, which other programs load too; None if it has no known one."""
    match = _LIBC.search(tree.read_text("proc/self/maps", limit=1 << 22) or "")
    return tree.path(match[1]) if match else None


def _detect_libc(library: Path) -> str:
    """Return the name of a C library with its release."""
    if library.name.startswith("ld-musl"):
        return "musl"
    try:
        release = _GLIBC_RELEASE.search(library.read_bytes())
    except OSError:
        release = None
    return f"glibc {release[1].decode()}" if release else "glibc"
