"""Makes text that came with untrusted code harmless to whatever reads our output: terminals and CI systems. Pure."""

import re

_COMMAND = re.compile(r"^(\s*)(::|##\[)", re.MULTILINE)
"""How a line begins that GitHub Actions obeys, as in ``::error::`` and ``##[group]``."""
_JOINER = "\N{WORD JOINER}"
_UNBREAKABLE = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]")


def harmless(text: str) -> str:
    """Return text without control characters that a terminal obeys, and without lines that a CI system obeys.

    Line breaks and tabs stay; a space that does not break is an ordinary one. Carriage returns go: some readers take
    them for the end of a line.
    """
    text = _UNBREAKABLE.sub(" ", text)
    shown = "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return _COMMAND.sub(rf"\1{_JOINER}\2", shown)
