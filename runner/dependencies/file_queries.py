"""What a command asked the kernel about files."""

from typing import Literal, Self

from msgspec import Struct

Kind = Literal["c", "s", "l", "d", "x"]
"""Content; state, through links; state of the name itself; the names in a folder; extended attributes."""
_QUESTION_KINDS = frozenset("csldx")
_MADE_KIND, _CHANGED_KIND = "n", "m"
_MAX_FOLDERS = 200
"""Folders in one path, beyond which it is not looked up."""
_VIRTUAL_FOLDERS = ("/proc/", "/sys/", "/dev/")
"""The kernel's own: they describe the host and the process, and are part of the environment."""


class Asked(Struct, frozen=True):
    """The questions of a command and all its processes.

    Attributes
    ----------
    questions
        Kinds and absolute paths, as the command named them.
    made
        Paths that did not exist before the command made them.
    changed
        Paths that existed before and were written, moved or removed.
    unfollowed
        Why the questions are not all known; empty if they are.
    """

    questions: frozenset[tuple[str, str]] = frozenset()
    made: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    unfollowed: str = ""

    @property
    def objection(self) -> str:
        """Why the command may get other answers next time in the same place; empty if it cannot."""
        lost = sorted(self.changed - self.made)
        return self.unfollowed or (f"it changes {lost[0]}, which existed before" if lost else "")

    @property
    def opened(self) -> frozenset[str]:
        """The paths that were opened or executed, whether they exist or not."""
        return frozenset(path for kind, path in self.questions if kind == "c")

    def combine(self, other: Self) -> "Asked":
        """Combine what two executions of one command asked in the same place."""
        return Asked(
            self.questions | other.questions,
            self.made | other.made,
            self.changed | other.changed,
            self.unfollowed or other.unfollowed,
        )


def make_unfollowed(why: str) -> Asked:
    """Return the questions of a command that could not be followed, with the reason."""
    return Asked(unfollowed=why)


def parse_asked(output: bytes) -> Asked:
    """Read what ``watch`` has written."""
    fields = output.split(b"\0")
    if fields[-2:] != [b".", b""]:
        return make_unfollowed("the tracer ended early")
    questions, made, changed = set(), set(), set()
    too_deep = ""
    for field in fields[1:-2]:
        kind, _, path = field.decode(errors="surrogateescape").partition(" ")
        if path.startswith(_VIRTUAL_FOLDERS):
            continue
        if path.count("/") > _MAX_FOLDERS:
            too_deep = "it asks about a file in too many folders"
            continue
        if kind == _MADE_KIND:
            made.add(path)
            questions.add(("l", path))  # The command has seen that it was missing.
        elif kind == _CHANGED_KIND:
            changed.add(path)
        elif kind in _QUESTION_KINDS:
            questions.add((kind, path.removesuffix(" (deleted)")))
    why = fields[0].decode(errors="replace") or too_deep
    return Asked(frozenset(questions), frozenset(made), frozenset(changed), why)
