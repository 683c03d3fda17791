"""The files of a machine below a root: ``/`` for this one, a made-up tree in a test."""

from collections.abc import Iterator
from pathlib import Path

Knobs = dict[str, str | None]
"""What a module of this package has read, by knob name. ``None``: this machine has no such knob."""


class Tree:
    """Reads small text files. What is missing or may not be read is ``None``, never an error."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, name: str | Path) -> Path:
        """Return where a file of the machine, with or without the leading slash, lies below the root."""
        return self.root / str(name).lstrip("/")

    def text(self, name: str | Path, limit: int = 1 << 20) -> str | None:
        """Return a file's text, stripped, or ``None``. ``limit`` is in bytes: some files of /proc are huge."""
        try:
            with self.path(name).open("rb") as file:
                return file.read(limit).decode(errors="replace").strip()
        except OSError:
            return None

    def lines(self, name: str | Path, limit: int = 1 << 20) -> list[str]:
        """Return a file's lines; none where it cannot be read."""
        return (self.text(name, limit) or "").splitlines()

    def integer(self, name: str | Path) -> int | None:
        """Return the number that a file holds, or ``None`` where it holds none."""
        try:
            return int(self.text(name) or "")
        except ValueError:
            return None

    def chosen(self, name: str | Path) -> str | None:
        """Return the word in brackets of a file that lists its choices, as in ``always [madvise] never``."""
        text = self.text(name)
        if text is None or "[" not in text:
            return text
        return text.partition("[")[2].partition("]")[0]

    def names(self, folder: str | Path, pattern: str = "*") -> Iterator[str]:
        """Return the names in a folder that fit a pattern; numbers within names in the order of numbers."""
        try:
            found = [path.name for path in self.path(folder).glob(pattern)]
        except OSError:
            found = []
        yield from sorted(found, key=lambda name: (len(name), name))
