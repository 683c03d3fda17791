"""Writes untrusted text into Markdown, so that GitHub shows it as it is and never reads it as markup.

Inside ``<code>`` GitHub links neither mentions nor issues nor commits, and nothing escapes from there, because each
character that Markdown could interpret is written as an entity. Characters that are invisible, or that change the
direction of the text around them, are written as their code points.
"""

from __future__ import annotations

import re

_PLAIN_CHARACTER = re.compile(r"[A-Za-z0-9 ,=/+%-]")
_MAX_CHARACTERS = 120
_FENCE = re.compile(r"`{3,}")


def format_code(text: str, max_characters: int = _MAX_CHARACTERS) -> str:
    """Return a text on one line, as code in Markdown."""
    escaped = "".join(
        char if _PLAIN_CHARACTER.match(char) else _escape_character(char)
        for char in _cut_text(escape_invisible_characters(text), max_characters)
    )
    return f"<code>{escaped}</code>" if escaped.strip() else "–"


def make_plain(text: str, max_characters: int = _MAX_CHARACTERS) -> str:
    """Return a text on one line, for places where GitHub shows no markup: titles, annotations."""
    return _cut_text(escape_invisible_characters(" ".join(text.split())), max_characters)


def format_block(text: str, max_bytes: int) -> str:
    """Return the end of a text, ``max_bytes`` bytes at most, as a block of code with its lines."""
    visible = "\n".join(
        escape_invisible_characters(line.expandtabs(4)) for line in text.strip("\n").split("\n")
    ).encode()
    lines = visible.decode() if len(visible) <= max_bytes else f"…\n{visible[-max_bytes:].decode(errors='ignore')}"
    fence = "`" * (1 + max((len(run) for run in _FENCE.findall(lines)), default=2))
    return f"{fence}text\n{lines}\n{fence}"


def escape_invisible_characters(text: str) -> str:
    """Return a text with every invisible or direction-changing character written as its code point."""
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def _escape_character(char: str) -> str:
    return f"&#{ord(char)};" if char.isascii() else char


def _cut_text(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else f"{text[: max_characters - 1]}…"
