"""Writes texts of the code as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable


def format_plain(text: str) -> str:
    """Return one line in which nothing is markup except code, which docstrings mark with one or two backticks."""
    pieces = re.split(r"(``.+?``|`[^`]+`)", " ".join(text.split()))
    return "".join(
        f"`{piece.strip('`')}`" if number % 2 else re.sub(r"([\\*_\[\]<>~$#])", r"\\\1", piece)
        for number, piece in enumerate(pieces)
    )


def format_code(text: str) -> str:
    """Return text as code."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def format_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; the cells are Markdown already."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
