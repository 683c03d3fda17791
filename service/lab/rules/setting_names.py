"""The settings of a lab by name: what a person writes, and what an environment shows."""

from __future__ import annotations

import re

from runner.contract.allocators import ALLOCATOR_LIBRARIES
from service.rules.jobs.job_settings import HUGE_PAGES, MEMORY_LIMIT, NO_LIMIT, PARAMETER, PRELOAD, VARIABLE
from service.text.numbers import format_amount

Value = str | None
"""The value of a setting as an environment shows it; None if it is not set."""
ALLOCATOR = "allocator"
"""The name of the allocator in an environment; it only follows from what is preloaded."""
LISTED_SETTINGS = (PRELOAD, HUGE_PAGES, MEMORY_LIMIT)
"""Settings whose values contain neither commas nor spaces."""
_TITLES = {PRELOAD: "Allocator", HUGE_PAGES: "Huge pages", MEMORY_LIMIT: "Memory limit"}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"([1-9][0-9]{0,14})\s*([KMG]?)(?:iB|B)?", re.IGNORECASE)
_FAMILY = re.compile(r"lib(jemalloc|tcmalloc|mimalloc|snmalloc|hoard|scudo|rpmalloc)")


def format_title(name: str) -> str:
    """Return the name of a setting for people."""
    return _TITLES.get(name) or name.removeprefix(VARIABLE).removeprefix(PARAMETER)


def format_value(name: str, value: Value) -> str:
    """Write a value for people: ``jemalloc``, ``64 MiB``, ``not set``."""
    if name == PRELOAD:
        if not value:
            return "the C library's"
        family = _FAMILY.search(value)
        return family[1] if family else value
    if name == MEMORY_LIMIT:
        return format_amount(int(value)) if value and value.isdecimal() else "no limit"
    if value is None:
        return "not set"
    return value or "empty"


def find_canonical_name(text: str) -> str:
    """Return the name of a setting that a person wrote: a variable may be named alone, and so may an allocator."""
    aliases = {"allocator": PRELOAD, "thp": HUGE_PAGES, "huge_pages": HUGE_PAGES, "memory_limit": MEMORY_LIMIT}
    if text in aliases:
        return aliases[text]
    return text if "." in text else f"{VARIABLE}{text}"


def read_value(name: str, text: str) -> Value:
    """Return a value that a person wrote as an environment shows it; an empty text takes a variable away.

    Raises
    ------
    ValueError
        It is no such value: says what to write.
    """
    text = text.strip()
    if name == PRELOAD:
        return None if text in {"", "glibc", "none"} else ALLOCATOR_LIBRARIES.get(text, text)
    if name == MEMORY_LIMIT:
        match = _SIZE.fullmatch(text)
        if match:
            return str(int(match[1]) * _UNITS[match[2].upper()])
        if text in {"", NO_LIMIT}:
            return NO_LIMIT
        raise ValueError(f"{text!r} is not a size: write bytes such as 256M, or none")
    return text or None
