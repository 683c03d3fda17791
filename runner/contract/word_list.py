"""Writes lists of words as they are written in a sentence."""

from collections.abc import Sequence


def join_words(words: Sequence[str]) -> str:
    """Return words as a list within a sentence: ``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def join_first_words(words: Sequence[str], max_words: int) -> str:
    """Return at most so many words as a list within a sentence, and the number of the others: ``a, b and 2 more``."""
    n_more = len(words) - max_words
    return join_words([*words[:max_words], *([f"{n_more:,} more"] if n_more > 0 else [])])
