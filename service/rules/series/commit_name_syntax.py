"""Parses the texts with which people name a commit: ``v5.4.6``, ``main~20``, ``2026-11-20``, a part of a hash."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_STEP = re.compile(r"~(?P<generations>[0-9]{0,6})|\^(?P<parent>[0-9]{0,2})")
MAX_STEPS = 100_000
"""Maximum number of steps in a text, so that a few characters, such as ``~999999~999999``, cannot fill the memory."""
_DATE_CHARACTERS = len("2026-11-20")


@dataclass(frozen=True, slots=True)
class RevisionText:
    """A text that names a commit.

    Attributes
    ----------
    name
        A tag, a branch, or a part of a hash.
    steps
        The steps from there to the commit: each is the number of a parent, counted from 1. ``~2`` is two steps to first
        parents.
    """

    name: str
    steps: tuple[int, ...] = ()


def parse_revision(text: str) -> RevisionText:
    """Parse a text as git does; of git's operators, only ``~`` and ``^`` are supported."""
    text = text.strip()
    matches = list(_STEP.finditer(text))
    # The steps are the matches that follow each other up to the end of the text.
    end_of_name = len(text)
    matches_at_end: list[re.Match[str]] = []
    while matches and matches[-1].end() == end_of_name:
        matches_at_end.append(matches.pop())
        end_of_name = matches_at_end[-1].start()
    steps: list[int] = []
    for match in reversed(matches_at_end):
        if match["generations"] is not None:
            steps += [1] * min(int(match["generations"] or 1), MAX_STEPS - len(steps))
        elif int(match["parent"] or 1):  # ^0 is the commit itself
            steps.append(int(match["parent"] or 1))
    return RevisionText(text[:end_of_name], tuple(steps[:MAX_STEPS]))


def follow_steps(parents: Mapping[str, Sequence[str]], commit: str, steps: Sequence[int]) -> str | None:
    """Return the commit to which the steps of a :class:`RevisionText` lead; None if the service does not know it."""
    for step in steps:
        parents_of_commit = parents.get(commit, ())
        if step > len(parents_of_commit):
            return None
        commit = parents_of_commit[step - 1]
    return commit if commit in parents else None


def parse_time_or_day(text: str) -> datetime | None:
    """Return the time that a text names, or the end, in UTC, of the day that it names; None if it names neither."""
    # A shorter text such as 20261120 may be a part of a hash, although Python reads it as a date.
    if len(text) < _DATE_CHARACTERS:
        return None
    try:
        if len(text) == _DATE_CHARACTERS:
            return datetime.combine(date.fromisoformat(text) + timedelta(days=1), datetime.min.time(), UTC)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
