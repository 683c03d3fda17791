"""Notices that a program has removed its own input, or has left an output beside it, as compressors do.

Such a program cannot be executed a second time.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from msgspec import Struct

_WORD = re.compile(r"[^\s'\"<>|&;=]+")
_MAX_FILES = 3
"""The most files that a message names."""


class Inputs(Struct, frozen=True):
    """The files of a tree that a command names, also within the command line of a shell.

    Attributes
    ----------
    names
        Their paths in the tree.
    beside
        The paths of all files in their folders, if the folders are in the tree.
    """

    names: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()

    @classmethod
    def read(cls, command: Iterable[str], tree: Path) -> Self:
        """Return the inputs as they are now."""
        words = {word for part in command for word in _WORD.findall(part)}
        names = frozenset(word for word in words if len(word) < 256 and ".." not in word and (tree / word).is_file())
        return cls(names, _list_beside(names, tree))

    def describe_consumed(self, tree: Path) -> str:
        """Return in a sentence how an execution consumed its input, so that the next may fail; empty if it did not."""
        if missing := sorted(name for name in self.names if not (tree / name).is_file()):
            return (
                f"an earlier execution removed or renamed {', '.join(missing)}, so the command works only once: let "
                f"it keep its input, or read the input from standard input"
            )
        left = sorted(_list_beside(self.names, tree) - self.beside)
        if not left:
            return ""
        more = f" and {len(left) - _MAX_FILES} more" if len(left) > _MAX_FILES else ""
        return (
            f"an earlier execution left {', '.join(left[:_MAX_FILES])}{more}, so the command may work only once: "
            "let it overwrite its output, or write to standard output"
        )


def _list_beside(names: Iterable[str], tree: Path) -> frozenset[str]:
    """Return the paths of all files in the folders of some files, as text that can be stored and printed."""
    folders = {(tree / name).parent for name in names if not Path(name).is_absolute()}
    entries = (entry for folder in folders if folder.is_dir() for entry in folder.iterdir())
    return frozenset(os.fsencode(entry.relative_to(tree)).decode(errors="replace") for entry in entries)
