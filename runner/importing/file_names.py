"""Reads the revision and the time of results from the name of their file."""

import re
from collections.abc import Iterator
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
    return next((commit_hash[0] for name in names for commit_hash in _find_hashes(name)), "")


def find_time(names: tuple[str, ...]) -> datetime | None:
    """Return the first date, with or without a time, in the names of a file and its folders, as UTC; None if none.

    Digits within a commit hash are not a date, but a date may begin a word that could be an abbreviated hash.
    """
    for name in names:
        hashes = list(_find_hashes(name))
        for match in _TIME.finditer(name):
            if any(_is_within(match, commit_hash) for commit_hash in hashes):
                continue
            numbers = [int(part) for part in match.groups("0")]  # From the year to the second; missing parts are 0.
            try:
                time = datetime(*numbers, tzinfo=UTC)  # type: ignore[misc,arg-type]
            except ValueError:
                continue  # The digits are not a valid date.
            if time.year >= _MIN_YEAR:
                return time
    return None


def _find_hashes(name: str) -> Iterator[re.Match[str]]:
    """Yield the parts of a name that look like a commit hash, as :func:`find_revision` says."""
    for match in _HASH.finditer(name):
        has_digits_and_letters = re.search("[0-9]", match[0]) and re.search("[a-f]", match[0])
        if len(match[0]) in _FULL_HASH_LENGTHS or has_digits_and_letters:
            yield match


def _is_within(date: re.Match[str], commit_hash: re.Match[str]) -> bool:
    """Return whether a date begins in a full hash, or after the beginning of an abbreviated one."""
    first_place = commit_hash.start() + (len(commit_hash[0]) not in _FULL_HASH_LENGTHS)
    return first_place <= date.start() < commit_hash.end()
