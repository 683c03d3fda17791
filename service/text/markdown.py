"""Text that a repository wrote, on a GitHub page: shown as it is, and never read as markup. Pure.

Inside of ``<code>`` GitHub links neither mentions nor issues nor commits; with each character that Markdown could read
as a sign of its own written as an entity, nothing gets out of there. What cannot be seen, or turns the direction of the
text around it, is written as its number.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9 ,=/+%-]")
_LONGEST = 120
_FENCE = re.compile(r"`{3,}")


def code(text: str, longest: int = _LONGEST) -> str:
    """Return a text in one line, as code in Markdown."""
    shown = "".join(char if _PLAIN.match(char) else _entity(char) for char in _cut(visible(text), longest))
    return f"<code>{shown}</code>" if shown.strip() else "–"


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return a text in one line, where GitHub shows no markup: titles, annotations."""
    return _cut(visible(" ".join(text.split())), longest)


def block(text: str, longest: int) -> str:
    """Return the end of a text, so many bytes of it, as a block of code with its lines."""
    shown = "\n".join(visible(line.expandtabs(4)) for line in text.strip("\n").split("\n")).encode()
    lines = shown.decode() if len(shown) <= longest else f"…\n{shown[-longest:].decode(errors='ignore')}"
    fence = "`" * (1 + max((len(run) for run in _FENCE.findall(lines)), default=2))
    return f"{fence}text\n{lines}\n{fence}"


def visible(text: str) -> str:
    """Return a text with all that is not seen, or moves what is seen, written as its number."""
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)


def _entity(char: str) -> str:
    return f"&#{ord(char)};" if char.isascii() else char


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
