"""Reads the texts by which people name a commit: ``v5.4.6``, ``main~20``, ``2026-11-20``, a part of a hash."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_STEPS = re.compile(r"(?:~[0-9]{0,6}|\^[0-9]{0,2})*$")
_STEP = re.compile(r"([~^])([0-9]*)")
MAX_STEPS = 100_000
"""The most steps that a text may ask for, so that a few characters, as ``~999999~999999``, cannot fill the memory."""
_DATE_CHARACTERS = len("2026-11-20")


@dataclass(frozen=True, slots=True)
class RevisionText:
    """A text that names a commit.

    Attributes
    ----------
    name
        A tag, a branch, or a part of a hash.
    steps
        From there to the commit: each is the number of a parent, from 1. ``~2`` is two steps to first parents.
    """

    name: str
    steps: tuple[int, ...] = ()


def parse_revision(text: str) -> RevisionText:
    """Read a text as git does, as far as ``~`` and ``^`` go."""
    text = text.strip()
    match = _STEPS.search(text)
    suffix = match.group() if match else ""
    steps: list[int] = []
    for sign, digits in _STEP.findall(suffix):
        number = int(digits) if digits else 1
        if sign == "~":
            steps += [1] * min(number, MAX_STEPS)
        elif number:  # ^0 is the commit itself
            steps.append(number)
    return RevisionText(text[: len(text) - len(suffix)], tuple(steps[:MAX_STEPS]))


def follow_steps(parents: Mapping[str, Sequence[str]], commit: str, steps: Sequence[int]) -> str | None:
    """Return the commit to which steps lead; None if the service does not know it."""
    for step in steps:
        parents_of_commit = parents.get(commit, ())
        if step > len(parents_of_commit):
            return None
        commit = parents_of_commit[step - 1]
    return commit if commit in parents else None


def find_end_of_day(text: str) -> datetime | None:
    """Return the end of the day, in UTC, or the time that a text names; None if it names none."""
    if (
        len(text) < _DATE_CHARACTERS
    ):  # such as 20261120, which Python reads as a date, but which may be a part of a hash
        return None
    try:
        if len(text) == _DATE_CHARACTERS:
            return datetime.combine(date.fromisoformat(text) + timedelta(days=1), datetime.min.time(), UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
