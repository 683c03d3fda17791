"""Makes text from untrusted code harmless for the terminals and CI systems that receive it."""

import re

from runner.commands_in_ci_logs import break_commands

_NO_BREAK_SPACES = re.compile("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]")


def strip_escape_sequences(text: str) -> str:
    """Return text without control characters for terminals and without commands for CI systems.

    Line breaks and tabs are kept; no-break spaces become ordinary spaces. Carriage returns are removed, because some
    readers take them for the end of a line.
    """
    text = _NO_BREAK_SPACES.sub(" ", text)
    printable_text = "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
    return break_commands(printable_text)
