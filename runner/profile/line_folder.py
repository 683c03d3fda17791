"""The folder in a working tree by which an executed program reports about its own lines."""

import fnmatch
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from runner.system.tree_walk import remove_tree

_NAME = ".faultwatch-lines"


class LineFolder:
    """Contains what the program needs to report about its lines, and later its result, which is untrusted.

    Attributes
    ----------
    path
        The folder, which exists from :meth:`create` to :meth:`remove`.
    """

    def __init__(self, tree: Path) -> None:
        self.path = tree.absolute() / _NAME
        self._descriptor: int | None = None

    def create(self, files: Mapping[str, bytes]) -> None:
        """Create the folder and put files into it; call this after the tree was restored for an execution.

        If that fails, the program reports nothing, and :meth:`remove` returns an empty result.
        """
        with suppress(OSError):
            self.path.mkdir()
            for name, content in files.items():
                (self.path / name).write_bytes(content)
            self.path.chmod(0o777)  # A sandboxed program may run as another user.
            # Keep the folder open, because the program may replace it by something else.
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    def remove(self, results: str, max_bytes: int) -> list[bytes]:
        """Remove the folder; return the contents of the regular files that the program wrote there, by their names.

        Parameters
        ----------
        results
            A pattern of file names, with the wildcards of a shell.
        max_bytes
            The largest number of bytes that are read of all files together.
        """
        contents = []
        if self._descriptor is not None:
            with suppress(OSError):
                names = os.listdir(self._descriptor)  # noqa: PTH208 - of the opened folder, not of a path
                for name in sorted(fnmatch.filter(names, results)):
                    contents.append(_read_file(self._descriptor, name, max_bytes))
                    max_bytes -= len(contents[-1])
            os.close(self._descriptor)
            self._descriptor = None
        remove_tree(self.path)
        return contents


def _read_file(folder: int, name: str, max_bytes: int) -> bytes:
    """Return the beginning of a file; empty if it is not regular, or cannot be read. Links are not followed."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as content:
        return content.read(max_bytes) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
