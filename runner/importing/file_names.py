"""Reads the revision and the time of results from the name of their file."""

import re
from datetime import UTC, datetime

_MIN_YEAR = 1990
"""Digits that look like an earlier date are taken for something else."""
_HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])")
_FULL_HASH_LENGTHS = (40, 64)
"""The digits of a SHA-1 and of a SHA-256."""
_TIME = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)(?:[T_ .-]?(\d\d)[:_.-]?(\d\d)(?:[:_.-]?(\d\d))?)?(?=Z|\D|$)",
)


def find_revision(names: tuple[str, ...]) -> str:
    """Return the first commit hash, of 7 digits or more, in the names of a file and its folders; else nothing.

    A number without letters is a date, a build or a year, except where it has all the digits of a hash.
    """
    for name in names:
        for match in _HASH.finditer(name):
            text = match[0]
            has_digits_and_letters = re.search("[0-9]", text) and re.search("[a-f]", text)
            if len(text) in _FULL_HASH_LENGTHS or has_digits_and_letters:
                return text
    return ""


def find_time(names: tuple[str, ...]) -> datetime | None:
    """Return the first date, with or without a time, in the names of a file and its folders, as UTC."""
    for name in names:
        for match in _TIME.finditer(name):
            numbers = [int(part) for part in match.groups("0")]  # from the year to the second; 0 for what is left out
            try:
                time = datetime(*numbers, tzinfo=UTC)  # type: ignore[misc,arg-type]
            except ValueError:
                continue  # other digits than those of a date
            if time.year >= _MIN_YEAR:
                return time
    return None
