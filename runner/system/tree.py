"""Reads the files of a machine below a root: ``/`` for this machine, or another folder in tests."""

import os
from collections.abc import Iterator
from pathlib import Path

SettingValues = dict[str, str | None]
"""Values by the name of the setting; ``None`` means that this machine has no such setting."""


class Tree:
    """Reads small text files. For a missing or unreadable file, methods return ``None`` or nothing, and never raise."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._prefix = os.fspath(root)

    def path(self, name: str | Path) -> Path:
        """Return the path of a file below the root; a leading slash is ignored."""
        return self.root / str(name).lstrip("/")

    def read_text(self, name: str | Path, limit: int = 1 << 20) -> str | None:
        """Return the stripped text of a file, or ``None``. At most ``limit`` bytes are read: /proc has huge files."""
        try:
            with open(self._join(name), "rb") as file:  # noqa: PTH123 - see _join
                return file.read(limit).decode(errors="replace").strip()
        except OSError:
            return None

    def list_folder(self, name: str | Path) -> list[str]:
        """Return the names in a folder; an empty list if it cannot be read."""
        try:
            return os.listdir(self._join(name))  # noqa: PTH208 - see _join
        except OSError:
            return []

    def _join(self, name: str | Path) -> str:
        """Return the path of a file below the root as text.

        Pathlib takes longer than the kernel: an environment has a hundred files, and a live process is read often.
        """
        return os.path.join(self._prefix, str(name).lstrip("/"))  # noqa: PTH118

    def read_lines(self, name: str | Path, limit: int = 1 << 20) -> list[str]:
        """Return the lines of a file; an empty list if it cannot be read."""
        text = self.read_text(name, limit)
        return text.split("\n") if text else []  # str.splitlines() would also split at characters within names.

    def read_integer(self, name: str | Path) -> int | None:
        """Return the number in a file, or ``None`` if it contains none."""
        try:
            return int(self.read_text(name) or "")
        except ValueError:
            return None

    def read_choice(self, name: str | Path) -> str | None:
        """Return the bracketed word of a file that lists its choices, as in ``always [madvise] never``.

        Without brackets, return the whole text; if the file cannot be read, ``None``.
        """
        text = self.read_text(name)
        if text is None or "[" not in text:
            return text
        return text.partition("[")[2].partition("]")[0]

    def list_names(self, folder: str | Path, pattern: str = "*") -> Iterator[str]:
        """Yield the names in a folder that match a pattern, shorter names first, so that numbers are in order."""
        try:
            names = [path.name for path in self.path(folder).glob(pattern)]
        except OSError:
            names = []
        yield from sorted(names, key=lambda name: (len(name), name))
