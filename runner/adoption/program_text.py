"""Finds out that a program, such as awk, asks for a program in its own language as an argument."""

import re

_ASKS_FOR_TEXT = re.compile(r"\busage\b.*['‘](?:prog|program|program text|program source)['’]", re.IGNORECASE)
"""A usage with a quoted program text: ``usage: awk [-F fs] 'prog' [file ...]``, as all versions of awk have it."""
_AWK_PROGRAM = "{ lines[NR] = $0; n += NF; words[$1]++ } END { for (word in words) unique++; print NR, n, unique }"
"""A program in awk's language that splits and keeps each line, counts words in a table, and computes."""


def find_program_text(usage: str) -> str:
    """Return a program for an interpreter that takes it as its first argument; empty if the usage asks for none.

    Parameters
    ----------
    usage
        What the interpreter prints without arguments.
    """
    return _AWK_PROGRAM if _ASKS_FOR_TEXT.search(usage) else ""
