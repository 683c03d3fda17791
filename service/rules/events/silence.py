"""Which series a silence covers. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class SilencePattern:
    """Keeps the drifts of some series from being told until a time.

    Patterns match the whole name; ``*`` stands for anything. Nothing else is special: names of cases have brackets.
    """

    subject: str
    host: str
    case: str
    metric: str
    until: datetime

    def covers(self, subject: str, host: str, case: str, metric: str, now: datetime) -> bool:
        """Tell whether the drifts of a series are silenced."""
        return (
            now < self.until
            and matches(self.subject, subject)
            and matches(self.host, host)
            and matches(self.case, case)
            and matches(self.metric, metric)
        )


def matches(pattern: str, name: str) -> bool:
    """Tell whether a name has the form of a pattern."""
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Successive stars are one; the atomic groups keep a hostile pattern from being tried in every possible way.
    parts = [re.escape(part) for part in re.split(r"\*+", pattern)]
    head, *tail = parts
    if not tail:
        return re.compile(head, re.DOTALL)
    inner = "".join(f"(?>.*?{part})" for part in tail[:-1])
    return re.compile(f"{head}{inner}.*{tail[-1]}", re.DOTALL)
