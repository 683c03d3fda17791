"""Decides which files may stay as an execution left them: those of [run] keep, the result file, bytecode of Python."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import accumulate

from msgspec import Struct

_BYTECODE_FOLDER, _BYTECODE_SUFFIX = "__pycache__", ".pyc"
"""Bytecode that Python leaves for its next start. It is kept, because it belongs to a warm start."""


class KeepRules(Struct, frozen=True):
    """Which changes stay from one execution to the next.

    Attributes
    ----------
    patterns
        The patterns of ``[run] keep``.
    result
        The path of the result file, which is removed separately; empty if there is none.
    """

    patterns: tuple[str, ...] = ()
    result: str = ""

    @property
    def keeps_everything(self) -> bool:
        """Whether no change is undone."""
        return "*" in self.patterns

    @property
    def may_keep_in_new_folder(self) -> bool:
        """Whether anything in a new folder may have to stay."""
        return bool(self.patterns or "/" in self.result)

    def keeps(self, path: str) -> bool:
        """Return whether a file stays as an execution left it.

        That is the result file, the bytecode of Python, and each file that, or of which a parent folder, matches one of
        the patterns.
        """
        names = path.split("/")
        if path == self.result or names[-1].endswith(_BYTECODE_SUFFIX) or _BYTECODE_FOLDER in names:
            return True
        return any(self._matches(pattern, names) for pattern in self.patterns)

    @staticmethod
    def _matches(pattern: str, names: Sequence[str]) -> bool:
        """Return whether a pattern matches a path or one of its parent folders; without a slash, at any depth."""
        pattern = pattern.removeprefix("./")
        is_path = "/" in pattern.rstrip("/")
        # For a/b/c, try a, a/b and a/b/c; if the pattern has no slash, try a, b and c.
        candidates = accumulate(names, "{}/{}".format) if is_path else names
        return any(fnmatchcase(candidate, pattern.strip("/")) for candidate in candidates)
