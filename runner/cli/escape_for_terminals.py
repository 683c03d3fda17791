"""Makes text from untrusted code harmless to the readers of our output: terminals and CI systems."""

import re

from runner.log_commands import break_commands

_UNBREAKABLE = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]")


def strip_terminal_commands(text: str) -> str:
    """Return text without control characters that a terminal obeys, and without commands that a CI system obeys.

    Line breaks and tabs stay; a space that does not break is an ordinary one. Carriage returns go: some readers take
    them for the end of a line.
    """
    text = _UNBREAKABLE.sub(" ", text)
    printable = "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return break_commands(printable)
