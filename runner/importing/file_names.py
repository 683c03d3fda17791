"""Reads the revision and the time of results from the name of their file."""

import re
from datetime import UTC, datetime

_HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])")
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
            if len(text) in {40, 64} or (re.search("[0-9]", text) and re.search("[a-f]", text)):
                return text
    return ""


def find_time(names: tuple[str, ...]) -> datetime | None:
    """Return the first date, with or without a time, in the names of a file and its folders, as UTC."""
    for name in names:
        for match in _TIME.finditer(name):
            try:
                time = datetime(*(int(part) for part in match.groups("0")), tzinfo=UTC)  # type: ignore[misc,arg-type]
            except ValueError:
                continue
            if time.year >= 1990:
                return time
    return None
