"""Writes lists of words as they are written in a sentence."""

from collections.abc import Sequence


def join_words(words: Sequence[str]) -> str:
    """Return words as a list within a sentence: ``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
