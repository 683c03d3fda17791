"""Every code block of the documentation, as markdown-it reads it: its language, its text, and why it is not run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "workloads/*/README.md")
    for path in ROOT.glob(pattern)
)
_REASON = re.compile(r"<!-- not run: (\S.*\S) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block."""

    document: Path
    line: int
    """Of its first line, or of the fence above it."""
    language: str
    text: str
    reason: str | None
    """Why it is not run; None if it is."""

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def blocks_of(text: str, document: Path = Path("page.md")) -> list[Block]:
    """Return the blocks of a document in their order. An indented block has no language."""
    found, above = [], ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type in {"fence", "code_block"}:
            reason = _REASON.fullmatch(above)
            line = (token.map or [0])[0] + 1
            found.append(Block(document, line, token.info.strip(), token.content, reason[1] if reason else None))
        above = token.content.strip() if token.type == "html_block" else ""
    return found


BLOCKS = [
    block for document in DOCUMENTS for block in blocks_of((ROOT / document).read_text(encoding="utf-8"), document)
]
