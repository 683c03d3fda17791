"""Finds shared libraries as the dynamic loader does, and computes fingerprints of their files."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from runner.system.regular_file import open_regular
from runner.system.tree import Tree

_STANDARD_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")
_ELF_CLASS_AND_MACHINE = (slice(0, 5), slice(18, 20))
_DIGEST_DIGITS = 12


def find_libraries(tree: Tree, pattern: str, preferred_folders: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the libraries whose file name matches the pattern, those in ``preferred_folders`` first.

    The other folders are those of the loader. As by the loader, libraries for another architecture are skipped.
    """
    own_architecture = _read_architecture(tree.path("proc/self/exe"))
    for folder in list_folders(tree, preferred_folders):
        for name in tree.list_names(folder, pattern):
            path = tree.path(folder) / name
            if own_architecture is None or _read_architecture(path) == own_architecture:
                yield path


def list_folders(tree: Tree, preferred_folders: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return ``preferred_folders``, followed by the folders that the loader searches, in its order."""
    return tuple(dict.fromkeys((*preferred_folders, *_read_configuration(tree), *_STANDARD_FOLDERS)))


def hash_library(path: Path) -> str | None:
    """Return the first 12 hex digits of the file's SHA-256, or ``None`` if it cannot be read.

    Whoever names the library may be untrusted, so a pipe is not waited for: like a folder, it cannot be read.
    """
    try:
        status = path.stat()
        return _hash_content(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return None


@lru_cache(maxsize=512)
def _hash_content(path: Path, _modified: int, _size: int) -> str:
    """Return the beginning of a file's digest. The time and the size of the file are only parts of the cache's key."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGEST_DIGITS]


def _read_configuration(tree: Tree) -> Iterator[str]:
    """Yield the folders that the dynamic loader's configuration names."""
    for name in tree.list_names("etc/ld.so.conf.d", "*.conf"):
        for line in tree.read_lines(f"etc/ld.so.conf.d/{name}"):
            folder = line.partition("#")[0].strip()
            if folder.startswith("/"):
                yield folder


def _read_architecture(path: Path) -> tuple[bytes, ...] | None:
    """Return the bytes of an ELF file that identify its class and machine."""
    try:
        with open_regular(path) as file:
            head = file.read(20)
    except OSError:
        return None
    return tuple(head[part] for part in _ELF_CLASS_AND_MACHINE)
