"""Whether a process gets transparent huge pages."""

import re

from runner.environment.tree import Tree
from runner.state import kernel


class NoHugePages:
    """None for this process: how many it would get depends on how fragmented the host's free memory is."""

    knob = "process.huge_pages"
    wanted = "never"
    remedy = "a kernel of version 3.15 or later, with CONFIG_TRANSPARENT_HUGEPAGE, can"

    def __init__(self, tree: Tree | None = None) -> None:
        self._tree = tree or Tree()
        self._before = False

    def show(self) -> str:
        """Return ``never``, or ``host`` where they are as the host is set."""
        status = self._tree.text("proc/self/status") or ""
        # Not in older kernels, and zero too where the whole host has none.
        told = re.search(r"^THP_enabled:\s+(\d)", status, re.MULTILINE)
        return "never" if (told[1] == "0" if told else kernel.refuses_huge_pages()) else "host"

    def apply(self) -> None:
        """Refuse them."""
        before = kernel.refuses_huge_pages()
        kernel.refuse_huge_pages(True)
        self._before = before

    def undo(self) -> None:
        """Take them again."""
        kernel.refuse_huge_pages(self._before)
