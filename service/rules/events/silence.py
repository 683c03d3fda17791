"""Decides which series a silence covers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

_ANY_TEXT = re.compile(r"(?<!\\)\*+")
"""What stands for any text in a pattern."""


@dataclass(frozen=True, slots=True)
class SilencePattern:
    r"""Patterns of the series about whose drifts nobody is notified until a given time.

    A pattern matches the whole name, ``*`` stands for any text, and ``\*`` for an asterisk. No other character is
    special, because names of cases contain brackets.
    """

    subject: str
    host: str
    case: str
    metric: str
    until: datetime

    def covers(self, subject: str, host: str, case: str, metric: str, now: datetime) -> bool:
        """Return whether the drifts of a series are silenced."""
        return (
            now < self.until
            and matches_pattern(self.subject, subject)
            and matches_pattern(self.host, host)
            and matches_pattern(self.case, case)
            and matches_pattern(self.metric, metric)
        )


def find_end_of_silence(
    patterns: Iterable[SilencePattern], location: tuple[str, str, str, str], now: datetime
) -> datetime | None:
    """Return until when the drifts of a series are silenced; None if they are not.

    Parameters
    ----------
    location
        The subject, host, case and metric of the series.
    """
    ends = (pattern.until for pattern in patterns if pattern.covers(*location, now))
    return max(ends, default=None)


def matches_pattern(pattern: str, name: str) -> bool:
    """Return whether a name matches a pattern."""
    return _compile_pattern(pattern).fullmatch(name) is not None


def make_literal_pattern(name: str) -> str:
    """Return the pattern that matches only this name."""
    return name.replace("*", r"\*")


def read_literal_pattern(pattern: str) -> str | None:
    """Return the only name that a pattern matches; None if it matches several."""
    return None if _ANY_TEXT.search(pattern) else pattern.replace(r"\*", "*")


@lru_cache(maxsize=1024)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern."""
    # Successive asterisks count as one. The atomic groups keep a hostile pattern from backtracking exponentially.
    parts = [re.escape(part.replace(r"\*", "*")) for part in _ANY_TEXT.split(pattern)]
    head, *tail = parts
    if not tail:
        return re.compile(head, re.DOTALL)
    inner = "".join(f"(?>.*?{part})" for part in tail[:-1])
    return re.compile(f"{head}{inner}.*{tail[-1]}", re.DOTALL)
