"""Escapes untrusted text for Markdown, so that forges show it unchanged and never read it as markup or commands.

Inside ``<code>``, GitHub, GitLab and Forgejo do not turn mentions, issues or commits into links. Untrusted text cannot
end this element, because each character that Markdown could interpret is written as an entity. Characters that are
invisible, or that change the direction of the text around them, are written as their code points.
"""

from __future__ import annotations

import re

_PLAIN_CHARACTER = re.compile(r"[A-Za-z0-9 ,=/+%-]")
_MAX_CHARACTERS = 120
_FENCE = re.compile(r"`{3,}")


def format_code(text: str, max_characters: int = _MAX_CHARACTERS) -> str:
    """Return a text on one line, as inline code in Markdown."""
    escaped_text = "".join(
        char if _PLAIN_CHARACTER.match(char) else _escape_character(char)
        for char in _cut_text(escape_invisible_characters(text), max_characters)
    )
    return f"<code>{escaped_text}</code>" if escaped_text.strip() else "–"


def make_text_plain(text: str, max_characters: int = _MAX_CHARACTERS) -> str:
    """Return a text on one line, for places where forges show no markup: titles, annotations, statuses."""
    return _cut_text(escape_invisible_characters(" ".join(text.split())), max_characters)


def format_block(text: str, max_bytes: int) -> str:
    """Return the last ``max_bytes`` bytes of a text, or fewer, as a code block with line breaks."""
    visible_text = "\n".join(
        escape_invisible_characters(line.expandtabs(4)) for line in text.strip("\n").split("\n")
    ).encode()
    if len(visible_text) <= max_bytes:
        lines = visible_text.decode()
    else:
        lines = f"…\n{visible_text[-max_bytes:].decode(errors='ignore')}"
    # The fence is longer than any fence in the text, and at least three characters long.
    longest_fence = max((len(fence) for fence in _FENCE.findall(lines)), default=2)
    fence = "`" * (longest_fence + 1)
    return f"{fence}text\n{lines}\n{fence}"


def break_quick_actions(text: str) -> str:
    """Return a text in which no line is a quick action of GitLab: a command that begins with a slash.

    In a code block, such a line is only text, but versions of GitLab disagree on which lines belong to a code block.
    With a space before the slash, the line is a command in no version.

    Forgejo has no quick actions, but bots may read such lines as commands there. A log must never act with the rights
    of the service's user.
    """
    return re.sub(r"(?m)^(?=/)", " ", text)


def escape_invisible_characters(text: str) -> str:
    """Return a text with every invisible or direction-changing character written as its code point."""
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def _escape_character(char: str) -> str:
    return f"&#{ord(char)};" if char.isascii() else char


def _cut_text(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else f"{text[: max_characters - 1]}…"
