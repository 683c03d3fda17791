"""Notices that a program has removed its own input, as compressors do, so that it cannot be executed a second time."""

import re
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(r"[^\s'\"<>|&;=]+")


def inputs_of(command: Iterable[str], tree: Path) -> frozenset[str]:
    """Return the files of a tree that a command names, also within the command line of a shell."""
    words = {word for part in command for word in _WORD.findall(part)}
    return frozenset(word for word in words if len(word) < 256 and ".." not in word and (tree / word).is_file())


def spent(inputs: Iterable[str], tree: Path) -> str:
    """Return which inputs are gone, as a sentence; empty if none is."""
    gone = sorted(name for name in inputs if not (tree / name).is_file())
    if not gone:
        return ""
    return (
        f"an execution before removed or renamed {', '.join(gone)}, so the command works only once: have it keep its "
        "input, or read it from standard input"
    )
