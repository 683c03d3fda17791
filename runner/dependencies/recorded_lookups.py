"""The recorded file lookups of a command: its questions to the kernel about files, without the answers."""

import os
from typing import Literal, Self

from msgspec import Struct

Kind = Literal["c", "s", "l", "d", "x"]
"""What a lookup asks for: ``c`` content; ``s`` status, of a link's target; ``l`` status, of the link itself;
``d`` the names in a folder; ``x`` extended attributes."""
_LOOKUP_KINDS = frozenset("csldx")
_MADE_KIND, _CHANGED_KIND, _MISSED_KIND = "n", "m", "r"
_MAX_FOLDERS = 200
"""The largest number of folders in a path; with deeper lookups, the lookups count as unknown."""
_VIRTUAL_FOLDERS = ("/proc/", "/sys/", "/dev/")
"""Folders of the kernel's own files. These describe the host and the process, which are part of the environment."""


class Lookups(Struct, frozen=True):
    """The file lookups of a command and all its processes.

    Attributes
    ----------
    entries
        The kind of each lookup and the absolute path, as the command wrote it.
    made_paths
        Paths that did not exist before the command made them.
    changed_paths
        Paths that existed before and were written, moved or removed.
    missed_paths
        Paths that were opened for reading when they did not exist.
    untraced_reason
        Why some lookups are unknown; empty if all are known.
    """

    entries: frozenset[tuple[str, str]] = frozenset()
    made_paths: frozenset[str] = frozenset()
    changed_paths: frozenset[str] = frozenset()
    untraced_reason: str = ""
    missed_paths: frozenset[str] = frozenset()

    @property
    def objection(self) -> str:
        """Why the lookups may be answered differently next time in the same tree; empty if they cannot."""
        changed_existing_paths = sorted(self.changed_paths - self.made_paths)
        return self.untraced_reason or (
            f"it changes {changed_existing_paths[0]}, which existed before" if changed_existing_paths else ""
        )

    @property
    def opened_paths(self) -> frozenset[str]:
        """The paths that were opened or executed, whether they exist or not."""
        return frozenset(path for kind, path in self.entries if kind == "c")

    def combine(self, other_lookups: Self) -> "Lookups":
        """Combine the lookups of two executions of one command in the same tree."""
        return Lookups(
            self.entries | other_lookups.entries,
            self.made_paths | other_lookups.made_paths,
            self.changed_paths | other_lookups.changed_paths,
            self.untraced_reason or other_lookups.untraced_reason,
            self.missed_paths | other_lookups.missed_paths,
        )


def make_untraced_lookups(reason: str) -> Lookups:
    """Return the lookups of a command that could not be traced: none, and the reason."""
    return Lookups(untraced_reason=reason)


def parse_lookups(output: bytes) -> Lookups:
    """Parse what ``lookup_tracer.c`` has written; without its end mark, the lookups are unknown."""
    # The first record says why some lookups are unknown. Each of the others contains a kind and a path.
    records = output.split(b"\0")
    if records[-2:] != [b".", b""]:
        return make_untraced_lookups("the tracer ended early")
    entries, made_paths, changed_paths, missed_paths = set(), set(), set(), set()
    nesting_problem = ""
    for record in records[1:-2]:
        kind, _, path = record.decode(errors="surrogateescape").partition(" ")
        if path.startswith(_VIRTUAL_FOLDERS):
            path = os.path.normpath(path)  # It may lead out of the folder again, as /dev/../etc does.
            if path.startswith(_VIRTUAL_FOLDERS):
                continue
        if path.count("/") > _MAX_FOLDERS:
            nesting_problem = "it looks up a file in too many nested folders"
            continue
        if kind == _MADE_KIND:
            made_paths.add(path)
            entries.add(("l", path))  # By making the file, the command learned that it did not exist.
        elif kind == _CHANGED_KIND:
            changed_paths.add(path)
        elif kind == _MISSED_KIND:
            missed_paths.add(path)
        elif kind in _LOOKUP_KINDS:
            entries.add((kind, path.removesuffix(" (deleted)")))
    reason = records[0].decode(errors="replace") or nesting_problem
    return Lookups(frozenset(entries), frozenset(made_paths), frozenset(changed_paths), reason, frozenset(missed_paths))
