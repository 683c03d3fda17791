"""Reads the revision and the time of results from the name of their file."""

import re
from datetime import UTC, datetime

_MIN_YEAR = 1990
"""Digits that form a date before this year are not taken for a date."""
_HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])")
_FULL_HASH_LENGTHS = (40, 64)
"""The number of hex digits of a SHA-1 and of a SHA-256."""
_TIME = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)(?:[T_ .-]?(\d\d)[:_.-]?(\d\d)(?:[:_.-]?(\d\d))?)?(?=Z|\D|$)",
)


def find_revision(names: tuple[str, ...]) -> str:
    """Return the first commit hash of at least 7 digits in the names of a file and its folders; empty if there is none.

    A number without letters is taken for a date or a build number, unless it has the length of a full hash.
    """
    for name in names:
        for match in _HASH.finditer(name):
            text = match[0]
            has_digits_and_letters = re.search("[0-9]", text) and re.search("[a-f]", text)
            if len(text) in _FULL_HASH_LENGTHS or has_digits_and_letters:
                return text
    return ""


def find_time(names: tuple[str, ...]) -> datetime | None:
    """Return the first date, with or without a time, in the names of a file and its folders, as UTC; None if none."""
    for name in names:
        for match in _TIME.finditer(name):
            numbers = [int(part) for part in match.groups("0")]  # From the year to the second; missing parts are 0.
            try:
                time = datetime(*numbers, tzinfo=UTC)  # type: ignore[misc,arg-type]
            except ValueError:
                continue  # The digits are not a valid date.
            if time.year >= _MIN_YEAR:
                return time
    return None
