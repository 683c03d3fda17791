"""Makes text from untrusted code harmless to the readers of our output: terminals and CI systems."""

import re

from runner.log_commands import break_commands

_NO_BREAK_SPACES = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]")


def strip_terminal_commands(text: str) -> str:
    """Return text without control characters that a terminal obeys, and without commands that a CI system obeys.

    Line breaks and tabs stay; a space that does not break is an ordinary one. Carriage returns go: some readers take
    them for the end of a line.
    """
    text = _NO_BREAK_SPACES.sub(" ", text)
    printable = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
    return break_commands(printable)
